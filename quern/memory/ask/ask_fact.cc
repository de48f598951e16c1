// Questions about things that change (memory/facts): the statement that held, then the others, the newest first.
#include <algorithm>

#include "quern/base/error.h"
#include "quern/memory/ask/event_times.h"
#include "quern/memory/ask/memory.h"
#include "quern/memory/facts/fact_fields.h"
#include "quern/memory/facts/fact_finder.h"
#include "quern/memory/facts/foreign_finder.h"

namespace quern::memory {
namespace {

constexpr size_t kAllRead = 2000;    // turns; of more, those that the index finds
constexpr size_t kLookedAt = 500;    // of those
constexpr size_t kEarlierNamed = 3;  // in the note
constexpr double kShown = 0.25;      // probability of statements beside the one that answers
constexpr const char* kUnknownAsker = "who asks was not said: “I” and “my” are no speaker's";

// The end of what a question names as its time; none, where that is now or it names none.
LocalSeconds end_of(const TimeQuery& time, LocalSeconds now) {
  LocalSeconds end = kNoBegin;
  for (const TimeConstraint& c : time.constraints)
    if (c.axis == Axis::date)
      for (const TimeRange& r : c.ranges) end = std::max(end, r.hi);
  return end == kNoBegin || end >= now ? kNoEnd : end;
}

}  // namespace

// It would be a question about what may have changed if somebody of the conversation asked it.
bool Memory::of_unknown_asker(const ReadQuestion& read, const std::string& asker) const {
  if (speakers_.empty() || std::find(speakers_.begin(), speakers_.end(), asker) != speakers_.end()) return false;
  return fact_question(read.text, read.time.empty() ? TimeSaid::no : TimeSaid::yes, speakers_, speakers_[0])
      .has_value();
}

bool Memory::by_fact(const ReadQuestion& read, const Clock& clock, const AskOptions& o, MemoryResult& out) {
  const bool by_event = std::any_of(read.time.constraints.begin(), read.time.constraints.end(),
                                    [](const TimeConstraint& c) { return std::string_view(c.name) == kEventTime; });
  if (out.context_turn >= 0 || table_.size() == 0) return false;
  if (!read.asked.empty() && by_foreign_fact(read, clock, o, out)) return true;
  auto fact = fact_question(read.text, read.time.empty() ? TimeSaid::no : TimeSaid::yes, speakers_, o.asker);
  if (!fact) {
    if (o.asker.empty() && of_unknown_asker(read, o.asker))  // of a name that no speaker has the reading tells
      out.notes.push_back(kUnknownAsker);
    return false;
  }
  if (by_event) {  // "before Jonas": what held until then
    const bool ends = end_of(read.time, o.now) < o.now;
    if (!fact->field || !ends || fact->time != FactTime::at) return false;
    if (!fact->field->words_matter) fact->words.clear();
  }
  const EventSource seen = events_until(clock.utc());
  const std::vector<FactStatement> all =
      find_statements(*fact, table_, rows_for_fact(seen, statement_words(*fact)), seen.text);
  return take_statement(*fact, all, end_of(read.time, o.now), o, out);
}

// In German, French or Spanish: by statements of these languages, else by what English turns state.
bool Memory::by_foreign_fact(const ReadQuestion& read, const Clock& clock, const AskOptions& o, MemoryResult& out) {
  const auto fact = foreign_fact(read.asked, read.time.empty() ? TimeSaid::no : TimeSaid::yes, speakers_, o.asker);
  if (!fact) return false;
  if (fact->asker_unknown) {
    if (o.asker.empty()) out.notes.push_back(kUnknownAsker);
    return false;
  }
  const EventSource seen = events_until(clock.utc());
  const LocalSeconds until =
      read.time.empty() && fact->year > 0 ? day_of(fact->year + 1, 1, 1) * kDaySeconds - 1 : end_of(read.time, o.now);
  const std::vector<uint32_t> rows = rows_for_fact(seen, foreign_statement_words(*fact));
  if (take_statement(fact->question, find_foreign_statements(*fact, table_, rows, speakers_, seen.text), until, o,
                     out))
    return true;
  const std::vector<uint32_t> english = rows_for_fact(seen, statement_words(fact->question));
  if (take_statement(fact->question, find_statements(fact->question, table_, english, seen.text), until, o, out))
    return true;
  out.notes.push_back("no turn was found that states it: read as any other question");
  return false;
}

// All that are seen; of many those that the index finds.
std::vector<uint32_t> Memory::rows_for_fact(const EventSource& seen, const std::string& words) {
  std::vector<uint32_t> rows;
  if (seen.rows <= kAllRead) {
    for (uint32_t r = 0; r < seen.rows; ++r) rows.push_back(r);
  } else {
    for (const recall::ScoredDocument& hit : seen.top(words, kLookedAt))
      if (const auto row = static_cast<uint32_t>(table_.row_of_id(hit.id)); row < seen.rows) rows.push_back(row);
    std::sort(rows.begin(), rows.end());
  }
  return rows;
}

bool Memory::take_statement(const FactQuestion& fact, const std::vector<FactStatement>& all, LocalSeconds until,
                            const AskOptions& o, MemoryResult& out) const {
  const int64_t chosen = choose_statement(fact, all, table_, until);
  if (chosen < 0) return false;
  out.route = Route::topic;
  std::erase_if(out.notes, [](const std::string& n) { return n.starts_with("refers to an earlier question"); });
  std::vector<std::string> earlier;
  const auto take = [&](size_t i) {
    if (out.responses.size() >= static_cast<size_t>(o.k)) return;
    out.responses.push_back(table_.response[all[i].row]);
    out.ranked.push_back({table_.response[all[i].row], all[i].score});
  };
  take(static_cast<size_t>(chosen));
  for (size_t i = all.size(); i-- > 0;) {
    if (i == static_cast<size_t>(chosen) || all[i].score < kShown) continue;
    take(i);
    if (i < static_cast<size_t>(chosen) && earlier.size() < kEarlierNamed)
      earlier.push_back(date_text(day_part(table_.local(all[i].row))));
  }
  const std::string said = date_text(day_part(table_.local(all[static_cast<size_t>(chosen)].row)));
  out.notes.push_back(
      fmt::format("taken for a question about what may have changed: as said on {}{}", said,
                  earlier.empty() ? "" : fmt::format("; earlier statements: {}", fmt::join(earlier, ", "))));
  return true;
}

}  // namespace quern::memory
