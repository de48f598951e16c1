// A topic of which no turn of the time, or of the speaker, has a word: that is said, and of a time that is named the turns are
// shown that come nearest to it in meaning.
#include <algorithm>
#include <unordered_map>

#include "quern/base/error.h"
#include "quern/memory/ask/memory.h"
#include "quern/memory/topic/near_meaning.h"

namespace quern::memory {
namespace {

constexpr size_t kMaxCompared = 256;  // turns
constexpr size_t kNearWords = 16;     // by which those of more are found
constexpr double kNeighbor = 0.3;     // share of a neighbor's nearness: answers follow questions
constexpr double kOpening = 0.2;      // of a session's first turn, half of it of the second, …: news comes first

}  // namespace

// How many turns are there, and how many elsewhere have its words.
void Memory::tell_miss(const Selection& rows, const Clock& clock, const AskOptions& o, MemoryResult& out) {
  if (!rows.restricted) {
    out.notes.push_back(fmt::format("no turn has a word of '{}'", out.topic));
    return;
  }
  constexpr size_t kMaxCounted = 1000;
  const size_t there = rows.size(table_), elsewhere = events_until(clock.utc()).top(out.topic, kMaxCounted).size();
  std::string note = there == 0   ? "no turn meets the time and the speaker"
                     : there == 1 ? fmt::format("the turn there has no word of '{}'", out.topic)
                                  : fmt::format("none of the {} turns there has a word of '{}'", there, out.topic);
  if (elsewhere > 0)
    note += fmt::format("; of other times or speakers {}{} {}", elsewhere == kMaxCounted ? "at least " : "",
                        counted_text(elsewhere, "turn"), elsewhere == 1 ? "has" : "have");
  out.notes.push_back(std::move(note));
  show_unmatched(rows, o, out);
}

// Of at most kMaxCompared turns all, else those that have words near to the topic's; in order of time.
std::vector<uint32_t> Memory::rows_to_compare(const NearMeaning& meaning, const Selection& rows,
                                              const AskOptions& o) {
  if (rows.size(table_) <= kMaxCompared) return rows.list(table_);
  const std::string near = meaning.near_words(kNearWords);
  if (near.empty()) return {};
  AskOptions alone = o;
  alone.neighbor = 0;
  std::vector<uint32_t> out;
  for (const recall::ScoredDocument& hit : best_among(near, rows, kMaxCompared, alone))
    out.push_back(static_cast<uint32_t>(table_.row_of_id(hit.id)));
  std::sort(out.begin(), out.end());
  return out;
}

// Nearest first, those of one nearness in order of time. Without the turns that have nothing of it.
std::vector<uint32_t> Memory::nearest_in_meaning(const std::string& topic, const Selection& rows,
                                                 const AskOptions& o) {
  NearMeaning meaning(topic);
  std::unordered_map<size_t, double> seen;
  const auto nearness = [&](size_t row) {
    const auto [at, fresh] = seen.try_emplace(row);
    if (fresh) at->second = std::max(0.0, meaning.nearness(store_.text(table_.id[row])));
    return at->second;
  };
  std::vector<std::pair<double, uint32_t>> order;
  int32_t session = 0;
  size_t place = 0;
  for (const uint32_t row : rows_to_compare(meaning, rows, o)) {
    place = table_.session[row] == session ? place + 1 : 1, session = table_.session[row];
    double score = nearness(row);
    if (row > 0 && table_.session[row - 1] == session) score += kNeighbor * nearness(row - 1);
    if (row + size_t{1} < table_.size() && table_.session[row + 1] == session) score += kNeighbor * nearness(row + 1);
    if (score > 0) order.emplace_back(-score - kOpening / static_cast<double>(place), row);
  }
  std::sort(order.begin(), order.end());
  std::vector<uint32_t> out;
  for (const auto& [score, row] : order)
    if (out.size() < static_cast<size_t>(o.k)) out.push_back(row);
  return out;
}

// Other words may tell of it: of a time that is named, some turns are shown for what they are.
void Memory::show_unmatched(const Selection& rows, const AskOptions& o, MemoryResult& out) {
  const size_t there = rows.timed ? rows.size(table_) : 0, shown = std::min(there, static_cast<size_t>(o.k));
  if (there == 0) return;
  const std::vector<uint32_t> near = nearest_in_meaning(out.topic, rows, o);
  std::vector<uint32_t> all = near;
  for (const uint32_t row : rows.list(table_)) {  // and the rest in order of time
    if (all.size() == shown) break;
    if (std::find(near.begin(), near.end(), row) == near.end()) all.push_back(row);
  }
  for (const uint32_t row : all) out.responses.push_back(table_.response[row]);
  out.unmatched = true;
  const std::string turns = counted_text(there, "turn");
  if (shown == there)
    out.notes.push_back(fmt::format("{} there {} shown, and none matches", turns, shown == 1 ? "is" : "are"));
  else if (near.empty())
    out.notes.push_back(fmt::format("the first {} of the {} there are shown, none of which matches", shown, turns));
  else
    out.notes.push_back(fmt::format("of the {} there {} shown that may mean it, none of which matches", turns,
                                    shown == 1 ? "one is" : fmt::format("{} are", shown)));
}

}  // namespace quern::memory
