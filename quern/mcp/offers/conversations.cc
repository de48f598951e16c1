// Adding, asking, listing and forgetting turns.
#include "quern/mcp/offers/conversations.h"

#include <algorithm>

#include "quern/memory/service/turns.h"
#include "quern/memory/store/import.h"

namespace quern::mcp {
namespace {

constexpr size_t kMaxText = size_t{1} << 20;  // of a resource
constexpr std::string_view kScheme = "quern-conversation:";

std::string text_in(const Json& arguments, const char* key, const std::string& otherwise) {
  const Json* t = arguments.find(key);
  return t ? t->as_string() : otherwise;
}

int64_t number_in(const Json& arguments, const char* key, int64_t otherwise) {
  const Json* n = arguments.find(key);
  return n ? n->as_int() : otherwise;
}

std::optional<std::string> text_there(const Json& arguments, const char* key) {
  const Json* t = arguments.find(key);
  return t ? std::optional(t->as_string()) : std::nullopt;
}

std::optional<int64_t> number_there(const Json& arguments, const char* key) {
  const Json* n = arguments.find(key);
  return n ? std::optional(n->as_int()) : std::nullopt;
}

std::string turns_in_sessions(const memory::ConversationInfo& c) {
  return fmt::format("{} in {}", memory::counted_text(static_cast<size_t>(c.turns), "turn"),
                     memory::counted_text(static_cast<size_t>(c.sessions), "session"));
}

}  // namespace

Conversations::Conversations(std::string file, std::string zone)
    : pool_({.file = std::move(file), .zone = std::move(zone), .durable = true, .max_open = 16}) {}

memory::ConversationName Conversations::name_in(const Json& arguments) {
  const Json *scope = arguments.find("scope"), *name = arguments.find("conversation");
  const bool one = scope ? *scope == Json("conversation") : name != nullptr;
  if (one && !name) fail("conversation: scope \"conversation\" needs the name of one; memory_list gives the names");
  if (!one && name)
    fail("conversation: scope \"user\" takes no name; leave it out, or set scope to \"conversation\"");
  return {"", one ? name->as_string() : kUserConversation};
}

Json Conversations::turn_json(memory::Memory& m, size_t row) {
  const memory::TurnTable& t = m.table();
  Json j = Json::object();
  j.set("response", int64_t{t.response[row]}), j.set("session", int64_t{t.session[row]});
  j.set("time", memory::time_text(t.local(row)));
  j.set("speaker", m.speakers()[static_cast<size_t>(t.speaker[row])]);
  j.set("text", m.text(t.response[row]));
  return j;
}

std::string Conversations::turn_text(memory::Memory& m, size_t row) {
  const Json j = turn_json(m, row);
  return fmt::format("[{}] {} {}: {}\n", j.at("response").as_int(), j.at("time").as_string().substr(0, 16),
                     j.at("speaker").as_string(), j.at("text").as_string());
}

ToolResult Conversations::add(const Json& arguments) {
  const memory::ConversationName name = name_in(arguments);
  const auto m = pool_.open(name);
  const memory::WallTime at = memory::wall_time(text_there(arguments, "time"), "time", m->zone());
  const memory::WrittenTime time{.local = at.local, .offset = at.offset};
  const memory::AddedTurn added = memory::add_turns(
      *m, {memory::at_time(text_in(arguments, "speaker", "user"), arguments.at("text").as_string(), time, m->zone())},
      memory::seconds_now())[0];
  const memory::StoredTurn& s = added.stored;
  ToolResult r =
      ToolResult::text(fmt::format("Stored as turn {} of session {} in '{}'.", s.response, s.session, name.name));
  r.structured.set("conversation", name.name), r.structured.set("response", int64_t{s.response});
  r.structured.set("session", int64_t{s.session});
  if (added.notes.empty()) return r;
  Json notes = Json::array();
  for (const std::string& n : added.notes) notes.push(n), r.content.push(text_content("Note: " + n));
  r.structured.set("notes", std::move(notes));
  return r;
}

Json Conversations::ask_memory(memory::Memory& m, const Json& arguments, std::string& text) {
  memory::AskOptions o;
  o.k = number_in(arguments, "k", 10), o.asker = text_in(arguments, "speaker", "user");
  const memory::WallTime now = memory::wall_time(text_there(arguments, "now"), "now", m.zone());
  o.now = now.local, o.offset = now.offset;
  const memory::FoundTurns a = memory::find_turns(m, arguments.at("question").as_string(), o);
  Json turns = Json::array(), notes = Json::array(), j = Json::object();
  if (a.result.unmatched) text += "No turn matches the topic. What was said at that time:\n";
  for (const memory::FoundTurn& f : a.turns) turns.push(turn_json(m, f.row)), text += turn_text(m, f.row);
  for (const std::string& n : a.notes) notes.push(n);
  j.set("conversation", m.info().name), j.set("route", memory::route_name(a.result.route));
  j.set("plan", a.result.plan.text()), j.set("turns", std::move(turns)), j.set("notes", std::move(notes));
  if (a.result.unmatched) j.set("unmatched", true);
  return j;
}

ToolResult Conversations::ask(const Json& arguments) {
  const memory::ConversationName name = name_in(arguments);
  const auto m = pool_.need(name);
  if (m->table().size() == 0) fail("the conversation '{}' has no turns yet", name.name);
  std::string text;
  Json found = ask_memory(*m, arguments, text);
  ToolResult r = ToolResult::text(text.empty() ? "No turn of the conversation matches the question." : text);
  for (const Json& n : found.at("notes").as_array()) r.content.push(text_content(n.as_string()));
  r.structured = std::move(found);
  return r;
}

ToolResult Conversations::list_turns(const Json& arguments) {
  ToolResult r;
  Json list = Json::array();
  std::string text;
  if (!arguments.find("scope") && !arguments.find("conversation")) {
    for (const memory::ConversationInfo& c : pool_.list()) {
      if (!c.user.empty()) continue;
      Json one = Json::object();
      one.set("conversation", c.name), one.set("turns", c.turns), one.set("sessions", c.sessions);
      one.set("zone", c.zone), list.push(std::move(one));
      text += fmt::format("{}: {}\n", c.name, turns_in_sessions(c));
    }
    r = ToolResult::text(text.empty() ? "The memory holds no conversation yet." : text);
    r.structured.set("conversations", std::move(list));
    return r;
  }
  const memory::ConversationName name = name_in(arguments);
  const auto m = pool_.need(name);
  const memory::TurnTable& t = m->table();
  const auto limit = static_cast<size_t>(number_in(arguments, "limit", 50));
  const std::optional<int64_t> before = number_there(arguments, "before");
  const size_t end = before ? t.rows_before(static_cast<int32_t>(*before)) : t.size();  // by number
  const size_t from = end > limit ? end - limit : 0;
  for (size_t i = from; i < end; ++i) {
    const size_t row = t.by_number(i);
    list.push(turn_json(*m, row)), text += turn_text(*m, row);
  }
  r = ToolResult::text(text.empty() ? "There are no such turns." : text);
  r.structured.set("conversation", name.name), r.structured.set("turns", std::move(list));
  if (from > 0) {
    const int32_t first = t.response[t.by_number(from)];
    r.structured.set("earlier_before", int64_t{first});
    r.content.push(text_content(
        fmt::format("({} before these: ask with before {})", memory::counted_text(from, "turn"), first)));
  }
  return r;
}

ToolResult Conversations::forget(const Json& arguments) {
  const memory::ConversationName name = name_in(arguments);
  const std::optional<int64_t> response = number_there(arguments, "response"),
                               session = number_there(arguments, "session");
  const std::optional<std::string> before = text_there(arguments, "before");
  const Json* everything = arguments.find("everything");
  const bool all = everything && everything->as_bool();
  if (int{response.has_value()} + int{session.has_value()} + int{before.has_value()} + int{all} != 1)
    fail("give exactly one of response, session, before, and everything: true");
  int64_t gone = 0;
  if (all) {
    gone = pool_.forget(name);
  } else {
    const auto m = pool_.need(name);
    memory::TurnChoice choice{.response = response, .session = session, .before = {}};
    if (before) choice.before = memory::wall_time(before, "before", m->zone()).utc();
    const std::vector<int32_t> which = memory::chosen_turns(*m, choice);
    if (which.empty())
      fail("no turn of '{}' matches, so nothing was deleted; memory_list gives the numbers", name.name);
    gone = m->forget(which);
  }
  ToolResult r = ToolResult::text(fmt::format("Deleted {} of '{}' permanently.",
                                              memory::counted_text(static_cast<size_t>(gone), "turn"), name.name));
  r.structured.set("conversation", name.name), r.structured.set("forgotten", gone);
  return r;
}

PromptResult Conversations::prompt(const Json& arguments) {
  const auto m = pool_.need({"", text_in(arguments, "conversation", kUserConversation)});
  std::string text;
  ask_memory(*m, arguments, text);
  const std::string question = arguments.at("question").as_string();
  return {.description = "The question with the turns that were found for it",
          .messages = {{"user", (text.empty() ? "" : "From earlier conversations:\n" + text + "\n") + question}}};
}

std::vector<ResourceInfo> Conversations::list() {
  std::vector<ResourceInfo> all;
  for (const memory::ConversationInfo& c : pool_.list())
    if (c.user.empty())
      all.push_back({.uri = std::string(kScheme) + uri_escaped(c.name),
                     .name = c.name,
                     .title = "Conversation " + c.name,
                     .description = turns_in_sessions(c),
                     .mime_type = "text/plain"});
  return all;
}

std::vector<ResourceTemplate> Conversations::templates() {
  return {{.uri_template = std::string(kScheme) + "{name}",
           .name = "conversation",
           .title = "Conversation",
           .description = "The turns of a conversation of the memory, oldest first",
           .mime_type = "text/plain"}};
}

std::optional<ResourceText> Conversations::read(const std::string& uri) {
  if (!uri.starts_with(kScheme)) return std::nullopt;
  const std::string name = uri_unescaped(std::string_view(uri).substr(kScheme.size()));
  const auto m = pool_.find({"", name});
  if (!m) return std::nullopt;
  memory::Memory& open = **m;
  std::string text;
  size_t row = open.table().size();  // the newest ones that fit
  std::vector<std::string> turns;
  for (size_t bytes = 0; row > 0; --row) {
    turns.push_back(turn_text(open, row - 1));
    bytes += turns.back().size();
    if (bytes > kMaxText) break;
  }
  if (row > 0) text = "(earlier turns are left out)\n";
  for (auto t = turns.rbegin(); t != turns.rend(); ++t) text += *t;
  return ResourceText{.text = std::move(text)};
}

}  // namespace quern::mcp
