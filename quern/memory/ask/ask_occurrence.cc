// The first turn, the last one, or the number of those that have the words of a topic.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "quern/base/error.h"
#include "quern/memory/ask/memory.h"

namespace quern::memory {

// Of these rows those that have the most of the words, ascending.
RowsWithWords Memory::rows_with(const std::vector<std::string>& words, const Selection& rows) {
  std::unordered_map<uint32_t, size_t> there;
  size_t most = 0;
  const std::set<std::string> different(words.begin(), words.end());
  for (const std::string& w : different)
    for (const recall::ScoredDocument& hit : index().top(w, table_.size()))
      if (const auto row = static_cast<uint32_t>(table_.row_of_id(hit.id)); rows.has(row, table_))
        most = std::max(most, ++there[row]);
  RowsWithWords out;
  out.all = most == different.size();
  for (const auto& [row, n] : there)
    if (n == most) out.rows.push_back(row);
  std::sort(out.rows.begin(), out.rows.end());
  return out;
}

void Memory::by_occurrence(const ReadQuestion& read, const Selection& rows, const Clock& clock, const AskOptions& o,
                           MemoryResult& out) {
  out.route = rows.restricted ? Route::both : Route::topic;
  const RowsWithWords with = rows_with(read.topic.words, rows);
  std::vector<uint32_t> found = with.rows;
  if (found.empty()) return tell_miss(rows, clock, o, out);
  const auto day = [&](uint32_t row) { return date_text(day_part(table_.local(row))); };
  std::set<int32_t> sessions;
  for (const uint32_t row : found) sessions.insert(table_.session[row]);
  const std::string all =
      fmt::format("{} of {} {} {}'{}'", counted_text(found.size(), "turn"), counted_text(sessions.size(), "session"),
                  found.size() == 1 ? "has" : "have", with.all ? "" : "most of the words ", out.topic);
  out.occurrences = {{static_cast<int64_t>(found.size()), static_cast<int64_t>(sessions.size())}};
  const bool first = read.occurrence.which == Occurrence::first;
  if (read.occurrence.which == Occurrence::count) {
    out.notes.push_back(fmt::format("counted: {}, from {} to {}", all, day(found.front()), day(found.back())));
  } else {
    const uint32_t one = first ? found.front() : found.back();
    if (read.occurrence.wanted == OccurrenceWanted::turn)
      found = {one};
    else
      std::erase_if(found, [&](uint32_t row) { return table_.session[row] != table_.session[one]; });
    out.notes.push_back(fmt::format("{}; the {} {} of {}", all, first ? "first" : "last",
                                    found.size() == 1 ? "is" : "are those", day(one)));
  }
  if (const auto k = static_cast<size_t>(o.k); found.size() > k) {
    out.notes.push_back(fmt::format("the first {} of them are shown", k));
    found.resize(k);
  }
  for (const uint32_t row : found)
    out.responses.push_back(table_.response[row]), out.ranked.push_back({table_.response[row], 1});
}

}  // namespace quern::memory
