// Adding, asking, listing and forgetting turns.
#include "quern/mcp/offers/conversations.h"

#include <algorithm>
#include <chrono>

#include "quern/memory/store/import.h"

namespace quern::mcp {
namespace {

constexpr size_t kMaxOpen = 16;               // each holds its table and its index
constexpr size_t kMaxText = size_t{1} << 20;  // of a resource
constexpr std::string_view kScheme = "quern-conversation:";

int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string text_in(const Json& arguments, const char* key, const std::string& otherwise) {
  const Json* t = arguments.find(key);
  return t ? t->as_string() : otherwise;
}

int64_t number_in(const Json& arguments, const char* key, int64_t otherwise) {
  const Json* n = arguments.find(key);
  return n ? n->as_int() : otherwise;
}

// On the conversation's wall.
memory::LocalSeconds time_in(const Json& arguments, const char* key, const memory::Zone& zone) {
  const Json* text = arguments.find(key);
  if (!text) return zone.to_local(seconds_now());
  const memory::WrittenTime t = memory::parse_time_text(text->as_string(), key);
  return t.offset ? zone.to_local(t.local - *t.offset) : t.local;
}

size_t row_of(const memory::TurnTable& t, int32_t response) {
  return static_cast<size_t>(std::lower_bound(t.response.begin(), t.response.end(), response) - t.response.begin());
}

}  // namespace

Conversations::Conversations(std::string file, std::string zone) : file_(std::move(file)), zone_(std::move(zone)) {
  memory::Zone::load(zone_);
  memory::ConversationStore(file_, {.create = true});  // an error now if it cannot be
}

std::string Conversations::name_in(const Json& arguments) {
  const Json *scope = arguments.find("scope"), *name = arguments.find("conversation");
  const bool one = scope ? *scope == Json("conversation") : name != nullptr;
  if (one && !name) fail("conversation: scope \"conversation\" needs the name of one; memory_list gives the names");
  if (!one && name)
    fail("conversation: scope \"user\" takes no name; leave it out, or set scope to \"conversation\"");
  return one ? name->as_string() : kUserConversation;
}

memory::Memory& Conversations::open(const std::string& name, Missing missing) {
  const auto at = open_.find(name);
  if (at != open_.end()) return *at->second;
  if (open_.size() >= kMaxOpen) open_.erase(open_.begin());
  auto fresh = std::make_unique<memory::Memory>(
      file_, memory::MemoryOptions{
                 .create = missing == Missing::create, .durable = true, .conversation = name, .zone = zone_});
  return *open_.emplace(name, std::move(fresh)).first->second;
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
  const std::string name = name_in(arguments);
  std::lock_guard lock(mutex_);
  memory::Memory& m = open(name, Missing::create);
  memory::WrittenTime time{.local = time_in(arguments, "time", m.zone())};
  const memory::StoredTurn s =
      m.add(memory::at_time(text_in(arguments, "speaker", "user"), arguments.at("text").as_string(), time, m.zone()));
  ToolResult r =
      ToolResult::text(fmt::format("Stored as turn {} of session {} in '{}'.", s.response, s.session, name));
  r.structured.set("conversation", name), r.structured.set("response", int64_t{s.response});
  r.structured.set("session", int64_t{s.session});
  return r;
}

Json Conversations::ask_memory(memory::Memory& m, const Json& arguments, std::string& text) {
  memory::AskOptions o;
  o.k = number_in(arguments, "k", 10), o.asker = text_in(arguments, "speaker", "user");
  o.now = time_in(arguments, "now", m.zone());
  const memory::MemoryResult a = m.ask(arguments.at("question").as_string(), o);
  std::vector<int32_t> responses = a.responses;
  const auto k = static_cast<size_t>(o.k);
  const size_t found = responses.size();
  if (found > k) responses.resize(k);
  std::sort(responses.begin(), responses.end());
  Json turns = Json::array(), notes = Json::array(), j = Json::object();
  for (const int32_t r : responses) {
    const size_t row = row_of(m.table(), r);
    turns.push(turn_json(m, row)), text += turn_text(m, row);
  }
  for (const std::string& n : a.notes) notes.push(n);
  if (found > k)
    notes.push(fmt::format("{} turns match; these are {} of them: raise k or name a shorter time", found, k));
  j.set("conversation", m.info().name), j.set("route", memory::route_name(a.route)), j.set("plan", a.plan.text());
  j.set("turns", std::move(turns)), j.set("notes", std::move(notes));
  return j;
}

ToolResult Conversations::ask(const Json& arguments) {
  const std::string name = name_in(arguments);
  std::lock_guard lock(mutex_);
  memory::Memory& m = open(name, Missing::refuse);
  if (m.table().size() == 0) fail("the conversation '{}' has no turns yet", name);
  std::string text;
  Json found = ask_memory(m, arguments, text);
  ToolResult r = ToolResult::text(text.empty() ? "No turn of the conversation matches the question." : text);
  for (const Json& n : found.at("notes").as_array()) r.content.push(text_content(n.as_string()));
  r.structured = std::move(found);
  return r;
}

ToolResult Conversations::list_turns(const Json& arguments) {
  std::lock_guard lock(mutex_);
  ToolResult r;
  Json list = Json::array();
  std::string text;
  if (!arguments.find("scope") && !arguments.find("conversation")) {
    memory::ConversationStore store(file_, {});
    for (const memory::ConversationInfo& c : store.conversations()) {
      Json one = Json::object();
      one.set("conversation", c.name), one.set("turns", c.turns), one.set("sessions", c.sessions);
      one.set("zone", c.zone), list.push(std::move(one));
      text += fmt::format("{}: {} turns in {} sessions\n", c.name, c.turns, c.sessions);
    }
    r = ToolResult::text(text.empty() ? "The memory holds no conversation yet." : text);
    r.structured.set("conversations", std::move(list));
    return r;
  }
  const std::string name = name_in(arguments);
  memory::Memory& m = open(name, Missing::refuse);
  const memory::TurnTable& t = m.table();
  const auto limit = static_cast<size_t>(number_in(arguments, "limit", 50));
  const int64_t before = number_in(arguments, "before", INT64_MAX);
  size_t end = 0;
  while (end < t.size() && t.response[end] < before) ++end;
  const size_t from = end > limit ? end - limit : 0;
  for (size_t row = from; row < end; ++row) list.push(turn_json(m, row)), text += turn_text(m, row);
  r = ToolResult::text(text.empty() ? "There are no such turns." : text);
  r.structured.set("conversation", name), r.structured.set("turns", std::move(list));
  if (from > 0) {
    r.structured.set("earlier_before", int64_t{t.response[from]});
    r.content.push(text_content(fmt::format("({} earlier turns: ask with before {})", from, t.response[from])));
  }
  return r;
}

ToolResult Conversations::forget(const Json& arguments) {
  const std::string name = name_in(arguments);
  const Json *response = arguments.find("response"), *session = arguments.find("session"),
             *before = arguments.find("before"), *everything = arguments.find("everything");
  const int given = int{response != nullptr} + int{session != nullptr} + int{before != nullptr} +
                    int{everything && everything->as_bool()};
  if (given != 1) fail("give exactly one of response, session, before, and everything: true");
  std::lock_guard lock(mutex_);
  memory::Memory& m = open(name, Missing::refuse);
  int64_t gone = 0;
  if (!response && !session && !before) {
    gone = m.store().forget_conversation(m.info().id);
    open_.erase(name);
  } else {
    const memory::TurnTable& t = m.table();
    const memory::LocalSeconds end = before ? time_in(arguments, "before", m.zone()) : 0;
    std::vector<int32_t> which;
    for (size_t row = 0; row < t.size(); ++row)
      if ((response && t.response[row] == response->as_int()) || (session && t.session[row] == session->as_int()) ||
          (before && t.local(row) < end))
        which.push_back(t.response[row]);
    if (which.empty()) fail("no turn of '{}' matches, so nothing was deleted; memory_list gives the numbers", name);
    gone = m.forget(which);
  }
  ToolResult r = ToolResult::text(fmt::format("Deleted {} turns of '{}' permanently.", gone, name));
  r.structured.set("conversation", name), r.structured.set("forgotten", gone);
  return r;
}

PromptResult Conversations::prompt(const Json& arguments) {
  std::lock_guard lock(mutex_);
  memory::Memory& m = open(text_in(arguments, "conversation", kUserConversation), Missing::refuse);
  std::string text;
  ask_memory(m, arguments, text);
  const std::string question = arguments.at("question").as_string();
  return {.description = "The question with the turns that were found for it",
          .messages = {{"user", (text.empty() ? "" : "From earlier conversations:\n" + text + "\n") + question}}};
}

std::vector<ResourceInfo> Conversations::list() {
  std::vector<ResourceInfo> all;
  memory::ConversationStore store(file_, {});
  for (const memory::ConversationInfo& c : store.conversations())
    all.push_back({.uri = std::string(kScheme) + uri_escaped(c.name),
                   .name = c.name,
                   .title = "Conversation " + c.name,
                   .description = fmt::format("{} turns in {} sessions", c.turns, c.sessions),
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
  std::lock_guard lock(mutex_);
  memory::ConversationStore store(file_, {});
  if (!store.look_up(name)) return std::nullopt;
  memory::Memory& m = open(name, Missing::refuse);
  std::string text;
  size_t row = m.table().size();  // the newest ones that fit
  std::vector<std::string> turns;
  for (size_t bytes = 0; row > 0; --row) {
    turns.push_back(turn_text(m, row - 1));
    bytes += turns.back().size();
    if (bytes > kMaxText) break;
  }
  if (row > 0) text = "(earlier turns are left out)\n";
  for (auto t = turns.rbegin(); t != turns.rend(); ++t) text += *t;
  return ResourceText{.text = std::move(text)};
}

}  // namespace quern::mcp
