// Temporal query: the time constraints of a question on the columns of the conversation table. Parsing needs only the
// asker's clock; plan.h selects the rows. Cost: linear in the question, a few microseconds.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/memory/time/time_words.h"

namespace quern::memory {

// strict: the calendar as people read it. tmd: as the labels of the TemporalMemoryDataset have it.
enum class Semantics : uint8_t { strict, tmd };

struct Clock {
  LocalSeconds now = 0;  // on the asker's wall
  int32_t offset = 0;    // of that wall, seconds east of Greenwich
  Semantics semantics = Semantics::strict;
  DateOrder order;
  Day today() const { return day_part(now); }
  int64_t utc() const { return now - offset; }
};

enum class Axis : uint8_t { date, weekday, clock, session, response };
// second: instants on the asker's wall, whatever a turn's own clock showed
enum class Grain : uint8_t { second, part, day, week, month, season, year };

// Rules that mean something else to the data set's labels keep what was said.
enum class TimeRule : uint8_t { plain, days_ago, named_day, earlier_today };

struct TimeRange {
  int64_t lo, hi;  // both inside; date: LocalSeconds; weekday: 0…6; clock: seconds of the day
  bool operator==(const TimeRange&) const = default;
};
constexpr int64_t kNoBegin = INT64_MIN / 4, kNoEnd = INT64_MAX / 4;

// How a constraint stands to those before it: all of them must hold, it begins another alternative, or its rows are
// taken away.
enum class TimeJoin : uint8_t { meet, unite, except };

struct TimeQuery;

struct TimeConstraint {
  Axis axis = Axis::date;
  TimeJoin join = TimeJoin::meet;
  std::vector<TimeRange> ranges;  // one of them must hold
  Grain grain = Grain::day;
  TimeRule rule = TimeRule::plain;
  int64_t argument = 0;  // days ago; the weekday
  // Sessions and responses are counted: from_end 0 means numbers from the front (1 is the first); else the last is 1.
  bool from_end = false;
  bool counted = false;    // an ordinal, which other constraints may restrict ("the third chat in May")
  bool numbered = false;   // responses: numbers as they are stored, from 0
  bool absolute = false;   // names a date of its own, whatever the clock says
  bool year_said = false;  // of a date or month, by itself
  bool mention = false;    // introduced by "as mentioned on", "according to the conversation on"
  bool soft = false;       // "earlier this morning": the day, when the part of it holds nothing
  bool nothing = false;    // lies ahead of now, or does not exist: no row
  // "the chat before the one on 6 May", "the day after our third chat": ranges are steps from what it selects, -1 the
  // one before; on the axis of dates in units of `grain`.
  std::shared_ptr<const TimeQuery> anchor;
  uint32_t begin = 0, end = 0;  // bytes of the text
  const char* name = "";        // of the rule
};

struct TimeQuery {
  std::vector<TimeConstraint> constraints;
  std::vector<std::string> notes;   // what could not be meant ("there is no 31 February"), what was guessed
  std::vector<std::string> unread;  // words of time that no rule used, as they stand
  std::vector<std::string>
      faint;          // others that may be such, in a question that names no time: "day", "before", "two"
  int64_t tries = 0;  // to read a number, an ordinal or a period somewhere: the work that it was
  bool empty() const { return constraints.empty(); }
};

// The hours of a part of the day, on any day.
std::vector<TimeRange> hours_of(DayPart part);
// Days and weekdays beside a month or a week are of that one ("in February except on the 14th").
void settle_frames(TimeQuery& query);
TimeQuery parse_time(std::string_view text, const Clock& clock);
// Words of time, of order and of exceptions among the tokens that are not 1 in `used`, neighbors together: of a question
// that names a time.
std::vector<std::string> timely_words_left(std::string_view text, const TimeWords& words,
                                           const std::vector<uint8_t>& used);
bool speaks_of_exception(std::string_view words);  // one of them is "except" or the like
TimeQuery parse_time(std::string_view text, const TimeWords& words, const Clock& clock);

}  // namespace quern::memory
