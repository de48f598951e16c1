// Retrieved text is placed before the question it was found for and not in the system message, so that the prefix
// cache still matches the prompt before it.
#include "quern/serve/chat/grounding.h"

#include <algorithm>
#include <thread>

#include "quern/serve/chat/chat_messages.h"
#include "quern/serve/chat/memory_scope.h"
#include "quern/serve/wire/api_error.h"
#include "quern/serve/wire/generation_fields.h"

namespace quern::serve {
namespace {

constexpr const char* kAsker = "user";
constexpr const char* kAnswerer = "assistant";

// Of a message as read_messages gives it.
std::string text_of(const Json& message) { return message.at("content").as_string(); }
std::string role_of(const Json& message) { return message.at("role").as_string(); }

// true, or an object of settings; absent, null and false ask for nothing.
std::optional<Json> asked(const Json& body, const char* name) {
  const Json* field = body.find(name);
  if (!field || field->is_null() || *field == Json(false)) return std::nullopt;
  if (*field == Json(true)) return Json::object();
  if (!field->is_object()) bad_field(name, "expected true or an object");
  return *field;
}

// The last message with `found` in front of its text.
Json with_found(const Json& body, const std::string& found, const std::string& question) {
  Json changed = body;
  for (auto& [key, value] : changed.members())
    if (key == "messages") value.items().back().set("content", found + question);
  return changed;
}

}  // namespace

struct Grounding::Impl {
  GroundingOptions options;
  std::unique_ptr<memory::ConversationPool> conversations;
  std::unique_ptr<recall::CurrentStore> documents;
  std::jthread indexer;  // last

  // The words of long conversations that no index on disk holds yet, before anybody asks for them.
  void index_all(const std::stop_token& stop) const {
    memory::ConversationStore store(options.memory, {});
    for (const memory::ConversationInfo& c : store.conversations())
      if (!stop.stop_requested() && c.turns >= store.topic_segment_turns()) memory::build_topics(store, c, stop);
  }

  std::string remember(const Json& settings, const Json& messages, const text::Tokenizer& tokenizer, int64_t utc,
                       const Caller& caller, Grounded& g);
  std::string look_up(const Json& settings, const std::string& question, const text::Tokenizer& tokenizer,
                      Grounded& g);
};

std::string Grounding::Impl::remember(const Json& settings, const Json& messages, const text::Tokenizer& tokenizer,
                                      int64_t utc, const Caller& caller, Grounded& g) {
  only_fields(settings, "x_memory.", {"conversation", "user", "k", "tokens", "keep"});
  const Fields f(settings);
  const std::string name = f.text("conversation").value_or("chat");
  if (name.empty() || name.size() > 200) bad_field("x_memory.conversation", "expected a name of 1 to 200 bytes");
  const int64_t k = f.integer("k", 1, 100).value_or(6), maximum = f.integer("tokens", 1, 1 << 20).value_or(512);
  const auto& said = messages.as_array();
  const std::string question = text_of(said.back());
  memory::AskOptions ask;
  ask.k = k, ask.asker = kAsker;
  for (size_t i = 0; i + 1 < said.size(); ++i)
    if (const std::string role = role_of(said[i]); role == kAsker || role == kAnswerer)
      ask.context.push_back({role, text_of(said[i])});

  g.user = memory_user(caller, f.text("user"), "x_memory.user");
  const auto held = conversations->open({g.user, name});
  memory::Memory& m = *held;
  const int32_t offset = m.zone().offset_at(utc);
  ask.now = utc + offset, ask.offset = offset;
  memory::MemoryResult a;
  if (m.table().size() > 0 && !question.empty()) a = m.ask(question, ask);
  const memory::TurnTable& table = m.table();

  // What points at nothing is not answered with the last session: it is in the chat already, or was not meant.
  std::vector<int32_t> turns = a.route == memory::Route::neither ? std::vector<int32_t>{} : a.responses;
  std::string found;
  std::vector<std::pair<size_t, Json>> told;  // by their rows, which are in order of time
  int64_t used = 0, left_out = 0;
  for (int32_t response : turns) {
    const std::string text = m.text(response);
    if (std::any_of(said.begin(), said.end(), [&](const Json& s) { return text_of(s) == text; })) continue;
    const size_t row = table.row_of(response).value();
    const auto tokens = static_cast<int64_t>(tokenizer.encode(text).size());
    if (used + tokens > maximum) {
      ++left_out;
      continue;
    }
    used += tokens;
    Json one = Json::object();
    one.set("response", int64_t{response}), one.set("time", memory::time_text(table.local(row)).substr(0, 16));
    one.set("speaker", m.speakers()[static_cast<size_t>(table.speaker[row])]), one.set("text", text);
    one.set("why", memory::route_name(a.route));
    told.emplace_back(row, std::move(one));
  }
  std::sort(told.begin(), told.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  Json list = Json::array(), notes = Json::array();
  if (a.unmatched && !told.empty()) found += "(Nothing matches the topic; this was said at that time.)\n";
  for (auto& [row, one] : told) {
    found += fmt::format("[{}] {}: {}\n", one.at("time").as_string(), one.at("speaker").as_string(),
                         one.at("text").as_string());
    list.push(std::move(one));
  }
  for (const std::string& n : a.notes) notes.push(n);
  if (left_out > 0)
    notes.push(fmt::format("{} more turn{} did not fit {} tokens", left_out, left_out == 1 ? "" : "s", maximum));
  g.memory = Json::object();
  g.memory.set("conversation", name), g.memory.set("route", memory::route_name(a.route));
  if (a.unmatched) g.memory.set("unmatched", true);
  g.memory.set("plan", a.plan.text()), g.memory.set("responses", std::move(list)), g.memory.set("notes", notes);
  if (f.boolean("keep").value_or(true)) g.conversation = name, g.question = question;
  return found.empty() ? "" : "From earlier conversations:\n" + found + "\n";
}

std::string Grounding::Impl::look_up(const Json& settings, const std::string& question,
                                     const text::Tokenizer& tokenizer, Grounded& g) {
  only_fields(settings, "x_documents.", {"k", "tokens"});
  const Fields f(settings);
  const auto k = static_cast<size_t>(f.integer("k", 1, 1000).value_or(50));
  const int64_t maximum = f.integer("tokens", 1, 1 << 20).value_or(1024);
  std::string stale;
  const std::shared_ptr<const recall::RecallStore> index = documents->get(stale);
  recall::RecallAnswer a = index->fused(question, k);
  std::vector<recall::RecallHit> taken;
  int64_t used = 0;
  for (recall::RecallHit& h : a.hits) {  // the best that fit, then in the order of the documents
    const auto tokens = static_cast<int64_t>(tokenizer.encode(h.text).size());
    if (used + tokens > maximum) break;
    used += tokens;
    taken.push_back(std::move(h));
  }
  std::sort(taken.begin(), taken.end(), [](const recall::RecallHit& x, const recall::RecallHit& y) {
    return x.sequence != y.sequence ? x.sequence < y.sequence : x.begin < y.begin;
  });
  std::string found;
  Json list = Json::array();
  for (size_t i = 0; i < taken.size(); ++i) {
    const recall::RecallHit& h = taken[i];
    found += fmt::format("[{}] ({}{}{}) {}\n", i + 1, h.path, h.heading.empty() ? "" : ": ", h.heading, h.text);
    Json one = Json::object();
    one.set("cite", static_cast<int64_t>(i + 1)), one.set("path", h.path);
    one.set("begin", static_cast<int64_t>(h.begin)), one.set("end", static_cast<int64_t>(h.end));
    if (!h.heading.empty()) one.set("heading", h.heading);
    one.set("score", h.score), one.set("text", h.text);
    list.push(std::move(one));
  }
  Json notes = Json::array();
  if (a.hits.empty()) notes.push("nothing in the documents matches the question");
  if (taken.empty() && !a.hits.empty()) notes.push(fmt::format("the best passage does not fit {} tokens", maximum));
  if (!stale.empty()) notes.push(stale);
  g.documents = Json::object();
  g.documents.set("mode", recall::name_of(a.mode)), g.documents.set("fallback", a.fallback);
  g.documents.set("tokens", used), g.documents.set("chunks", std::move(list)),
      g.documents.set("notes", std::move(notes));
  return found.empty() ? "" : "From the documents (cite them by their numbers):\n" + found + "\n";
}

Grounding::Grounding(const GroundingOptions& options) : impl_(std::make_unique<Impl>()) {
  impl_->options = options;
  if (!options.zone.empty()) memory::Zone::load(options.zone);
  if (!options.memory.empty()) {
    impl_->conversations = std::make_unique<memory::ConversationPool>(  // told now if it cannot be
        memory::PoolOptions{
            .file = options.memory, .zone = options.zone.empty() ? "UTC" : options.zone, .background = true});
    impl_->indexer = std::jthread([impl = impl_.get()](const std::stop_token& stop) {
      try {
        impl->index_all(stop);
      } catch (const std::exception&) {  // whoever asks meets it too, and is told
      }
    });
  }
  if (!options.documents.empty()) impl_->documents = std::make_unique<recall::CurrentStore>(options.documents);
}
Grounding::~Grounding() = default;

memory::ConversationPool* Grounding::memory() const { return impl_->conversations.get(); }
recall::CurrentStore* Grounding::documents() const { return impl_->documents.get(); }

Grounded Grounding::ground(const Json& body, const text::Tokenizer& tokenizer, int64_t utc, const Caller& caller) {
  Grounded g{.body = body, .memory = {}, .documents = {}, .conversation = {}, .question = {}};
  const std::optional<Json> memory = asked(body, "x_memory"), documents = asked(body, "x_documents");
  g.body.erase("x_memory"), g.body.erase("x_documents");
  if (!memory && !documents) return g;
  if (memory && !has_memory())
    bad_field("x_memory", "this server has no conversation memory: it was started without a memory file");
  if (documents && !has_documents())
    bad_field("x_documents", "this server has no documents: it was started without a search index");
  const Json messages = read_messages(body);
  const Json& last = messages.as_array().back();
  if (role_of(last) != kAsker) bad_field("messages", "memory and documents need a user's message at the end");
  std::string found;
  if (memory) found += impl_->remember(*memory, messages, tokenizer, utc, caller, g);
  if (documents) found += impl_->look_up(*documents, text_of(last), tokenizer, g);
  if (!found.empty()) g.body = with_found(g.body, found, text_of(last));
  return g;
}

void Grounded::tell(Json& answer) const {
  if (!memory.is_null()) answer.set("x_memory", memory);
  if (!documents.is_null()) answer.set("x_documents", documents);
}

void Grounding::keep(const Grounded& g, const std::string& answer, int64_t utc) {
  if (g.conversation.empty() || g.question.empty()) return;
  const auto held = impl_->conversations->open({g.user, g.conversation});
  memory::Memory& m = *held;
  const int32_t offset = m.zone().offset_at(utc);
  std::vector<memory::SpokenTurn> turns = {{kAsker, g.question, utc, offset}};
  if (!answer.empty()) turns.push_back({kAnswerer, answer, utc, offset});
  m.add_all(turns);
}

}  // namespace quern::serve
