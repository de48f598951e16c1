// Adding, listing, exporting and deleting turns.
#include "quern/serve/api/memory_api.h"

#include <algorithm>
#include <charconv>

#include "quern/base/nearest.h"
#include "quern/memory/ask/turn_lines.h"
#include "quern/memory/service/turns.h"
#include "quern/memory/store/import.h"
#include "quern/serve/chat/memory_scope.h"
#include "quern/serve/wire/api_error.h"
#include "quern/serve/wire/generation_fields.h"

namespace quern::serve {
namespace {

constexpr const char* kUsual = "chat";  // the conversation of x_memory, too
constexpr size_t kMaxName = 200, kMaxTurns = 10'000;
constexpr int64_t kPage = 100, kMaxPage = 1000, kExportPage = 1000;

std::string checked_name(const std::optional<std::string>& name, const std::string& field, const char* otherwise) {
  const std::string out = name.value_or(otherwise);
  if (out.empty() || out.size() > kMaxName) bad_field(field, "expected a name of 1 to {} bytes", kMaxName);
  return out;
}

// "2026-05-08 13:56+02:00", on the wall of the zone without an offset, or Unix seconds; absent: now.
memory::SpokenTurn read_turn(const Json& j, const std::string& where, const memory::Zone& zone, int64_t now) {
  const Fields f(j);
  memory::SpokenTurn t{.speaker = checked_name(f.text("speaker"), where + "speaker", "user"), .text = {}};
  const auto text = f.text("text");
  if (!text || text->find_first_not_of(" \t\r\n\f\v") == text->npos)
    bad_field(where + "text", "expected what was said");
  const Json* time = f.find("time");
  if (!time || time->is_int()) {
    t.text = *text, t.utc = time ? time->as_int() : now;
    if (t.utc < memory::kFirstSecond || t.utc > memory::kLastSecond)
      bad_field(where + "time", "{}: not in the years 1 to 9999", t.utc);
    t.offset = zone.offset_at(t.utc);
    return t;
  }
  if (!time->is_string()) bad_field(where + "time", "expected a time as text, or Unix seconds");
  try {
    return memory::at_time(t.speaker, *text, memory::parse_time_text(time->as_string(), "time"), zone);
  } catch (const Error& e) {
    bad_field(where + "time", "{}", e.what());
  }
}

Json texts_json(const std::vector<std::string>& texts) {
  Json j = Json::array();
  for (const std::string& t : texts) j.push(t);
  return j;
}

std::string turn_id(const memory::Memory& m, int32_t response) { return fmt::format("{}-{}", m.info().id, response); }

Json user_json(const std::string& user) { return user.empty() ? Json() : Json(user); }

// What it is called, and the number of the turn.
struct TurnAddress {
  memory::ConversationName name;
  int32_t response = 0;
};

// Of a turn that the caller may see; whether it is there is another question.
std::optional<TurnAddress> turn_of(const MemoryCall& c, const std::string& id) {
  int64_t conversation = 0;
  int32_t response = 0;
  const char *begin = id.data(), *end = begin + id.size();
  const auto [dash, first] = std::from_chars(begin, end, conversation);
  if (first != std::errc() || end - dash < 2 || *dash != '-' || dash[1] == '-') return std::nullopt;
  const auto [rest, second] = std::from_chars(dash + 1, end, response);
  if (second != std::errc() || rest != end) return std::nullopt;
  const auto name = c.pool.name_of(conversation);
  if (!name || !c.caller.reaches(name->user)) return std::nullopt;
  return TurnAddress{*name, response};
}

[[noreturn]] void no_turn(const std::string& id) {
  throw ApiError(404, "invalid_request_error", "turn_not_found", fmt::format("there is no turn '{}'", id));
}
[[noreturn]] void no_conversation(const std::string& name, const std::string& meant = {}) {
  throw ApiError(404, "invalid_request_error", "conversation_not_found",
                 fmt::format("there is no conversation '{}'{}", name, meant));
}

std::optional<std::string> parameter(const HttpRequest& r, const char* name) {
  const std::string* value = r.parameter(name);
  return value ? std::optional(*value) : std::nullopt;
}

int64_t read_limit(const HttpRequest& r) {
  const std::string* text = r.parameter("limit");
  if (!text) return kPage;
  int64_t n = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), n);
  if (error != std::errc() || end != text->data() + text->size() || n < 1 || n > kMaxPage)
    bad_field("limit", "'{}': expected 1 to {}", *text, kMaxPage);
  return n;
}

// While another process reads the file, what is deleted may still lie in its log.
template <class F>
auto forgetting(F&& f) {
  try {
    return f();
  } catch (const ApiError&) {
    throw;
  } catch (const Error& e) {
    throw ApiError(503, "server_error", "memory_busy", e.what());
  }
}

}  // namespace

Json memory_turn_json(memory::Memory& m, size_t row) {
  const int32_t response = m.table().response[row];
  Json j = Json::object();
  j.set("id", turn_id(m, response)), j.set("object", "memory.turn");
  j.set("conversation", m.info().name), j.set("user", user_json(m.info().user));
  const Json line = memory::turn_line(m, row, m.text(response));
  for (const auto& [key, value] : line.as_object()) j.set(key, value);
  return j;
}

std::vector<memory::ConversationInfo> meant_conversations(const MemoryCall& c, const std::optional<std::string>& user,
                                                          const std::vector<std::string>& names) {
  if (user) memory_user(c.caller, user, "user");
  std::vector<memory::ConversationInfo> all = c.pool.names();
  std::erase_if(all, [&](const auto& i) { return user ? i.user != *user : !c.caller.reaches(i.user); });
  if (names.empty()) return all;
  std::vector<std::string> there;
  for (const auto& i : all) there.push_back(i.name);
  for (const std::string& name : names)
    if (std::find(there.begin(), there.end(), name) == there.end()) no_conversation(name, did_you_mean(name, there));
  std::erase_if(all, [&](const auto& i) { return std::find(names.begin(), names.end(), i.name) == names.end(); });
  return all;
}

Json add_memory_turns(const MemoryCall& c, const Json& body) {
  only_fields(body, "", {"conversation", "user", "zone", "turns", "speaker", "text", "time"});
  const Fields f(body);
  const memory::ConversationName name{.user = memory_user(c.caller, f.text("user"), "user"),
                                      .name = checked_name(f.text("conversation"), "conversation", kUsual)};
  const Json* list = f.find("turns");
  if (list && !list->is_array()) bad_field("turns", "expected a list of turns");
  for (const char* one : {"speaker", "text", "time"})
    if (list && f.find(one)) bad_field(one, "belongs to each of the turns where there is a list of them");
  if (list && (list->as_array().empty() || list->as_array().size() > kMaxTurns))
    bad_field("turns", "{} turns: expected 1 to {}", list->as_array().size(), kMaxTurns);
  const int64_t now = memory::seconds_now();
  const std::string wanted_zone = f.text("zone").value_or("");
  // Read before the conversation is made: a wrong turn leaves nothing behind.
  const auto there = c.pool.find(name);
  const memory::Zone zone =
      there ? (*there)->zone() : memory::Zone::load(wanted_zone.empty() ? c.pool.options().zone : wanted_zone);
  std::vector<memory::SpokenTurn> turns;
  if (!list) turns.push_back(read_turn(body, "", zone, now));
  for (size_t i = 0; list && i < list->as_array().size(); ++i) {
    const Json& one = list->as_array()[i];
    const std::string where = fmt::format("turns[{}]", i);
    if (!one.is_object()) bad_field(where, "expected an object with speaker, text and time");
    only_fields(one, where + ".", {"speaker", "text", "time"});
    turns.push_back(read_turn(one, where + ".", zone, now));
  }
  const auto held = there ? std::nullopt : std::optional(c.pool.open(name, wanted_zone));
  memory::Memory& m = there ? **there : **held;
  Json data = Json::array(), notes = Json::array();
  if (there && !wanted_zone.empty() && wanted_zone != m.info().zone)
    notes.push(
        fmt::format("the conversation has the zone {} since it began: {} is not used", m.info().zone, wanted_zone));
  const std::vector<memory::AddedTurn> added = memory::add_turns(m, turns, now);
  for (const memory::AddedTurn& a : added) {
    Json one = Json::object();
    one.set("id", turn_id(m, a.stored.response)), one.set("response", int64_t{a.stored.response});
    one.set("session", int64_t{a.stored.session}), one.set("notes", texts_json(a.notes));
    data.push(std::move(one));
  }
  Json j = Json::object();
  j.set("object", "list"), j.set("conversation", name.name), j.set("user", user_json(name.user));
  j.set("data", std::move(data)), j.set("notes", std::move(notes));
  return j;
}

Json list_memory_conversations(const MemoryCall& c, const HttpRequest& r) {
  const auto user = parameter(r, "user");
  if (user) memory_user(c.caller, user, "user");
  Json data = Json::array(), j = Json::object();
  for (const memory::ConversationInfo& i : c.pool.list()) {
    if (user ? i.user != *user : !c.caller.reaches(i.user)) continue;
    Json one = Json::object();
    one.set("object", "memory.conversation"), one.set("conversation", i.name), one.set("user", user_json(i.user));
    one.set("zone", i.zone), one.set("gap_seconds", i.gap), one.set("turns", i.turns),
        one.set("sessions", i.sessions);
    data.push(std::move(one));
  }
  j.set("object", "list"), j.set("data", std::move(data));
  return j;
}

Json list_memory_turns(const MemoryCall& c, const HttpRequest& r) {
  const memory::ConversationName name{.user = memory_user(c.caller, parameter(r, "user"), "user"),
                                      .name = checked_name(parameter(r, "conversation"), "conversation", kUsual)};
  const auto limit = static_cast<size_t>(read_limit(r));
  const std::string order = parameter(r, "order").value_or("asc");
  if (order != "asc" && order != "desc") bad_field("order", "'{}': expected asc or desc", order);
  const auto after = parameter(r, "after");
  const auto held = c.pool.find(name);
  if (!held) no_conversation(name.name);
  memory::Memory& m = **held;
  const memory::TurnTable& t = m.table();
  size_t from = 0;  // of the rows in the order that is asked for
  if (after) {
    const auto at = turn_of(c, *after);
    const auto row = at && at->name == name ? t.row_of(at->response) : std::nullopt;
    if (!row) bad_field("after", "'{}': no turn of the conversation has this id", *after);
    from = (order == "asc" ? *row : t.size() - 1 - *row) + 1;
  }
  const size_t end = std::min(t.size(), from + limit);
  Json data = Json::array(), j = Json::object();
  for (size_t i = from; i < end; ++i) data.push(memory_turn_json(m, order == "asc" ? i : t.size() - 1 - i));
  const auto& turns = data.as_array();
  j.set("object", "list"), j.set("first_id", turns.empty() ? Json() : turns.front().at("id"));
  j.set("last_id", turns.empty() ? Json() : turns.back().at("id")), j.set("has_more", end < t.size());
  j.set("total", static_cast<int64_t>(t.size())), j.set("data", std::move(data));
  return j;
}

Json forget_memory_turn(const MemoryCall& c, const std::string& id) {
  const auto at = turn_of(c, id);
  if (!at) no_turn(id);
  const auto held = c.pool.find(at->name);
  if (!held || !(*held)->table().row_of(at->response)) no_turn(id);
  forgetting([&] { return (*held)->forget({at->response}); });
  Json j = Json::object();
  j.set("id", id), j.set("object", "memory.turn"), j.set("deleted", true);
  return j;
}

Json forget_memory_conversation(const MemoryCall& c, const std::string& name, const HttpRequest& r) {
  const memory::ConversationName which{.user = memory_user(c.caller, parameter(r, "user"), "user"), .name = name};
  if (!c.pool.find(which)) no_conversation(name);
  const int64_t gone = forgetting([&] { return c.pool.forget(which); });
  Json j = Json::object();
  j.set("id", name), j.set("object", "memory.conversation"), j.set("deleted", true), j.set("turns", gone);
  return j;
}

// A page at a time, so that a slow reader holds up nobody.
void export_memory(const MemoryCall& c, Exchange& e) {
  const auto name = parameter(e.request(), "conversation");
  const auto all =
      meant_conversations(c, parameter(e.request(), "user"), name ? std::vector{*name} : std::vector<std::string>());
  e.begin(200, "application/x-ndjson");
  for (const memory::ConversationInfo& i : all) {
    for (int64_t next = 0, count = kExportPage; count == kExportPage && next <= INT32_MAX;) {
      count = 0;
      std::string lines;
      if (const auto held = c.pool.find({i.user, i.name}))
        memory::each_turn_line(**held, static_cast<int32_t>(next), kExportPage, [&](const Json& turn) {
          Json line = Json::object();
          line.set("conversation", i.name);
          if (!i.user.empty()) line.set("user", i.user);
          line.set("zone", i.zone);
          for (const auto& [key, value] : turn.as_object()) line.set(key, value);
          lines += line.dump() + "\n";
          next = turn.at("response").as_int() + 1, ++count;
        });
      if (!lines.empty() && !e.write(lines)) return;
    }
  }
  e.end();
}

}  // namespace quern::serve
