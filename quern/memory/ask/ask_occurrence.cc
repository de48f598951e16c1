// The first turn, the last one, or the number of those that have the words of a topic.
#include <algorithm>
#include <set>

#include "quern/base/error.h"
#include "quern/memory/ask/memory.h"

namespace quern::memory {
namespace {

struct CountedRows {
  std::vector<uint32_t> rows;  // ascending
  std::vector<size_t> words;   // of each
};

void count_in(CountedRows& all, const std::vector<uint32_t>& more) {
  CountedRows out;
  out.rows.reserve(all.rows.size() + more.size()), out.words.reserve(all.rows.size() + more.size());
  size_t i = 0, j = 0;
  while (i < all.rows.size() || j < more.size()) {
    const bool old = j == more.size() || (i < all.rows.size() && all.rows[i] <= more[j]);
    const bool fresh = i == all.rows.size() || (j < more.size() && more[j] <= all.rows[i]);
    out.rows.push_back(old ? all.rows[i] : more[j]);
    out.words.push_back((old ? all.words[i++] : 0) + (fresh ? 1 : 0));
    j += fresh ? 1 : 0;
  }
  all = std::move(out);
}

size_t sessions_of(const TurnTable& t, const std::vector<uint32_t>& rows) {  // ascending, as sessions are
  size_t n = 0;
  for (size_t i = 0; i < rows.size(); ++i) n += i == 0 || t.session[rows[i]] != t.session[rows[i - 1]];
  return n;
}

}  // namespace

// Of these rows those that have the most of the words, ascending. Linear in the postings of the words.
RowsWithWords Memory::rows_with(const std::vector<std::string>& words, const Selection& rows) {
  RowsWithWords out;
  if (rows.rows.empty()) return out;
  const std::set<std::string> different(words.begin(), words.end());
  CountedRows there;
  for (const std::string& w : different) {
    std::vector<uint32_t> with = index().rows_with(w, table_, {rows.rows.front(), rows.rows.back() + 1});
    std::erase_if(with, [&](uint32_t row) { return !rows.has(row, table_); });
    count_in(there, with);
  }
  const size_t most = there.rows.empty() ? 0 : *std::max_element(there.words.begin(), there.words.end());
  out.all = most == different.size();
  for (size_t i = 0; i < there.rows.size(); ++i)
    if (there.words[i] == most) out.rows.push_back(there.rows[i]);
  return out;
}

void Memory::by_occurrence(const ReadQuestion& read, const Selection& rows, const Clock& clock, const AskOptions& o,
                           MemoryResult& out) {
  out.route = rows.restricted ? Route::both : Route::topic;
  auto [found, all_words] = rows_with(read.topic.words, rows);
  if (found.empty()) return tell_miss(rows, clock, o, out);
  const auto day = [&](uint32_t row) { return date_text(day_part(table_.local(row))); };
  const size_t sessions = sessions_of(table_, found);
  const std::string all =
      fmt::format("{} of {} {} {}'{}'", counted_text(found.size(), "turn"), counted_text(sessions, "session"),
                  found.size() == 1 ? "has" : "have", all_words ? "" : "most of the words ", out.topic);
  out.occurrences = {{static_cast<int64_t>(found.size()), static_cast<int64_t>(sessions)}};
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
