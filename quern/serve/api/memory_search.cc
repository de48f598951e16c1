// Questions to the memory, of one conversation or of several.
#include <algorithm>
#include <set>

#include "quern/memory/service/turns.h"
#include "quern/serve/api/memory_api.h"
#include "quern/serve/wire/api_error.h"
#include "quern/serve/wire/generation_fields.h"

namespace quern::serve {
namespace {

constexpr size_t kMaxSearched = 64;  // conversations of one question
constexpr size_t kMaxNotes = 20;

struct Hit {
  Json turn;
  int64_t utc = 0;
  double score = -1;
  bool unmatched = false;
};

std::vector<memory::ContextTurn> read_context(const Fields& f) {
  std::vector<memory::ContextTurn> out;
  const Json* list = f.find("context");
  if (!list) return out;
  if (!list->is_array()) bad_field("context", "expected a list of turns with speaker and text");
  for (const Json& t : list->as_array()) {
    const Fields one(t);
    const auto text = t.is_object() ? one.text("text") : std::nullopt;
    if (!text) bad_field("context", "expected a list of turns with speaker and text");
    out.push_back({one.text("speaker").value_or(""), *text});
  }
  return out;
}

memory::AskOptions read_options(const Fields& f) {
  memory::AskOptions o;
  o.k = f.integer("k", 1, 1000).value_or(10), o.asker = f.text("speaker").value_or("user");
  o.context = read_context(f);
  if (const auto rank = f.text("rank")) try {
      o.rank = memory::topic_rank(*rank);
    } catch (const Error& e) {
      bad_field("rank", "{}", e.what());
    }
  o.order.month_first = !f.boolean("day_first").value_or(false);
  o.speaker_filter = !f.boolean("all_speakers").value_or(false);
  return o;
}

Json plan_json(memory::Memory& m, const memory::MemoryResult& r) {
  Json j = Json::object();
  j.set("conversation", m.info().name), j.set("user", m.info().user.empty() ? Json() : Json(m.info().user));
  j.set("route", memory::route_name(r.route)), j.set("chain", r.plan.text());
  if (!r.topic.empty()) j.set("topic", r.topic);
  if (!r.reading.empty()) j.set("reading", r.reading);
  return j;
}

}  // namespace

Json search_memory(const MemoryCall& c, const Json& body) {
  only_fields(body, "",
              {"question", "query", "conversation", "conversations", "user", "now", "k", "speaker", "context", "rank",
               "day_first", "all_speakers"});
  const Fields f(body);
  const auto question = f.find("question") ? f.text("question") : f.text("query");
  if (!question || question->find_first_not_of(" \t\r\n") == question->npos)
    bad_field("question", "expected a question about what was said");
  std::vector<std::string> names = f.texts("conversations");
  if (const auto one = f.text("conversation")) names.push_back(*one);
  memory::AskOptions o = read_options(f);
  const auto now = f.text("now");
  std::vector<memory::ConversationInfo> all = meant_conversations(c, f.text("user"), names);
  std::vector<std::string> notes;
  if (all.size() > kMaxSearched) {
    notes.push_back(fmt::format("{} conversations: the newest {} were searched; name those that are meant",
                                all.size(), kMaxSearched));
    all.erase(all.begin(), all.end() - kMaxSearched);
  }
  const bool several = all.size() > 1;
  if (several && o.rank == memory::TopicRank::automatic) o.rank = memory::TopicRank::bm25;  // scores compare
  std::vector<Hit> hits;
  Json plans = Json::array();
  std::set<std::string> unmet;  // what conversations without a hit had to say
  for (const memory::ConversationInfo& i : all) {
    const auto held = c.pool.find({i.user, i.name});
    if (!held || (*held)->table().size() == 0) continue;
    memory::Memory& m = **held;
    try {
      const memory::WallTime at = memory::wall_time(now, "now", m.zone());
      o.now = at.local, o.offset = at.offset;
    } catch (const Error& e) {
      bad_field("now", "{}", e.what());
    }
    const memory::FoundTurns found = memory::find_turns(m, *question, o);
    plans.push(plan_json(m, found.result));
    const bool meant = !several || found.result.route != memory::Route::neither;
    if (!meant || found.turns.empty()) {
      unmet.insert(found.notes.begin(), found.notes.end());
      continue;
    }
    for (const std::string& n : found.notes) notes.push_back(several ? fmt::format("{}: {}", i.name, n) : n);
    for (const memory::FoundTurn& t : found.turns) {
      Hit h{memory_turn_json(m, t.row), m.table().utc[t.row], t.score};
      if (t.score >= 0) h.turn.set("score", t.score);
      if (h.unmatched = found.result.unmatched; h.unmatched) h.turn.set("unmatched", true);
      hits.push_back(std::move(h));
    }
  }
  // Where a topic is met somewhere, what was taken for its time alone says less.
  const bool ranked = std::any_of(hits.begin(), hits.end(), [](const Hit& h) { return h.score >= 0; });
  const auto matched = std::count_if(hits.begin(), hits.end(), [](const Hit& h) { return !h.unmatched; });
  if (matched > 0) std::erase_if(hits, [](const Hit& h) { return h.unmatched; });
  if (ranked) std::erase_if(hits, [](const Hit& h) { return h.score < 0; });
  std::stable_sort(hits.begin(), hits.end(),
                   [&](const Hit& a, const Hit& b) { return ranked ? a.score > b.score : a.utc < b.utc; });
  const auto k = static_cast<size_t>(o.k);
  if (hits.size() > k) {
    notes.push_back(fmt::format("{} turns of several conversations match; these are {} of them", hits.size(), k));
    hits.resize(k);
  }
  const auto found_turns = std::min<int64_t>(matched, static_cast<int64_t>(hits.size()));
  if (hits.empty()) {
    notes.insert(notes.end(), unmet.begin(), unmet.end());
    notes.push_back(plans.as_array().empty() ? "nothing found: the memory holds no turn yet"
                                             : "nothing found: no turn meets the question");
  }
  if (notes.size() > kMaxNotes) notes.resize(kMaxNotes);
  Json data = Json::array(), said = Json::array(), j = Json::object();
  for (Hit& h : hits) data.push(std::move(h.turn));
  for (const std::string& n : notes) said.push(n);
  j.set("object", "memory.search"), j.set("question", *question), j.set("found", found_turns);
  j.set("data", std::move(data)), j.set("plans", std::move(plans)), j.set("notes", std::move(said));
  return j;
}

}  // namespace quern::serve
