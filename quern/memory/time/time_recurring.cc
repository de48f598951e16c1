// Clauses about hours and days that recur: "on Tuesdays", "every Monday", "in the mornings", "at 3 pm", "between 2 and
// 4 pm".
#include <algorithm>
#include <utility>

#include "quern/memory/time/time_parser.h"

namespace quern::memory {
namespace {

constexpr int32_t kHour = 3600, kDayEnd = 86399;

}  // namespace

// Of every week or every day: "on Tuesdays", "every Monday", "on weekends", "in the mornings".
size_t TimeParser::recurring(size_t i, TimeConstraint& out) const {
  size_t j = i;
  if (is(j, Word::on) || is(j, Word::in) || is(j, Word::at) || is(j, Word::over)) ++j;
  const bool every = is(j, Word::every);
  if (every) ++j;
  j = skip(j, Word::the);
  if (j >= n_) return 0;
  const bool a_weekday = is(j, Word::a) && (is(j + 1, Lex::weekday)) && !is(j + 2, Lex::unit);
  if (a_weekday) ++j;
  out.axis = Axis::weekday, out.grain = Grain::day, out.name = "every-week";
  const bool nights = is(j + 1, Lex::part) && t_[j + 1].plural;  // "Friday nights"
  if (is(j, Lex::weekday) && (every || t_[j].plural || a_weekday || nights)) {
    out.ranges = {{t_[j].value, t_[j].value}};
    size_t end = j + 1;
    while ((is(end, Word::and_) || is(end, Word::or_) || (end < n_ && t_[end].before == ','))) {
      size_t k = is(end, Word::and_) || is(end, Word::or_) ? end + 1 : end;
      if (is(k, Word::on)) ++k;
      if (!is(k, Lex::weekday) || !(t_[k].plural || every)) break;
      out.ranges.push_back({t_[k].value, t_[k].value});
      end = k + 1;
    }
    return end;
  }
  if (is_unit(j, Unit::weekend) && (t_[j].plural || every)) {
    out.ranges = {{5, 6}};
    return j + 1;
  }
  if (said(j, "weekdays") || said(j, "weekday") || said(j, "workdays")) {
    out.ranges = {{0, 4}};
    return j + 1;
  }
  if (is(j, Lex::part) && (t_[j].plural || every)) {
    out.axis = Axis::clock, out.grain = Grain::part, out.name = "every-day";
    switch (static_cast<DayPart>(t_[j].value)) {
      case DayPart::morning:
        out.ranges = {{5 * kHour, 12 * kHour - 1}};
        break;
      case DayPart::afternoon:
        out.ranges = {{12 * kHour, 17 * kHour - 1}};
        break;
      case DayPart::evening:
        out.ranges = {{17 * kHour, 22 * kHour - 1}};
        break;
      case DayPart::night:
        out.ranges = {{22 * kHour, kDayEnd}, {0, 5 * kHour - 1}};
        break;
    }
    return j + 1;
  }
  return 0;
}

// at 3 pm, around 15:30, after 5 pm, before noon, between 2 and 4 pm, from 2 pm to 4 pm
size_t TimeParser::clock_time(size_t i, int32_t& lo, int32_t& hi) const {
  size_t j = i;
  auto one = [&](size_t k, int32_t& at, bool& whole) -> size_t {
    if (is(k, Lex::clock)) {
      at = t_[k].value, whole = !t_[k].digits;
      return k + 1;
    }
    if (is(k, Word::noon) || is(k, Word::midnight)) {
      at = t_[k].value, whole = true;
      return k + 1;
    }
    return 0;
  };
  int32_t a = 0, b = 0;
  bool wa = false, wb = false;
  if (is(j, Word::between) || is(j, Word::from)) {
    size_t k = one(j + 1, a, wa);
    bool bare = false;
    if (!k && is(j + 1, Lex::number) && t_[j + 1].value <= 12) k = j + 2, bare = true;
    if (!k || !(is(k, Word::and_) || is(k, Word::to) || is(k, Word::until) || dash(k))) return 0;
    const size_t end = one(dash(k) ? k : k + 1, b, wb);
    if (!end) return 0;
    if (bare) {
      a = t_[j + 1].value % 12 * kHour + (b >= 12 * kHour ? 12 * kHour : 0);
      if (a > b) a -= 12 * kHour;
    }
    if (a < 0 || a >= b) return 0;
    lo = a, hi = b - 1;
    return end;
  }
  const bool after = is(j, Word::after) || is(j, Word::since), before = is(j, Word::before) || is(j, Word::until);
  const bool around = is(j, Word::around), at = is(j, Word::at);
  if (!after && !before && !around && !at) return 0;
  ++j;
  const bool about = at && is(j, Word::around);
  if (about) ++j;
  const size_t end = one(j, a, wa);
  if (!end) return 0;
  if (after)
    lo = a, hi = kDayEnd;
  else if (before)
    lo = 0, hi = std::max(0, a - 1);
  else if (around || about)
    lo = std::max(0, a - kHour / 2), hi = std::min(kDayEnd, a + kHour / 2);
  else
    lo = a, hi = std::min(kDayEnd, a + (wa ? kHour : 60) - 1);
  return end;
}

size_t TimeParser::clock_clause(size_t i, TimeConstraint& out) const {
  int32_t lo, hi;
  size_t end = clock_time(i, lo, hi);
  if (end) {
    out.axis = Axis::clock, out.ranges = {{lo, hi}}, out.grain = Grain::part, out.name = "clock";
    return end;
  }
  // "in the morning" with the day said elsewhere
  size_t j = i;
  if (!(is(j, Word::in) || is(j, Word::at))) return 0;
  ++j;
  if (is(j, Word::the)) ++j;
  if (!is(j, Lex::part) || t_[j].plural) return 0;
  TimeConstraint every;
  switch (static_cast<DayPart>(t_[j].value)) {
    case DayPart::morning:
      every.ranges = {{5 * kHour, 12 * kHour - 1}};
      break;
    case DayPart::afternoon:
      every.ranges = {{12 * kHour, 17 * kHour - 1}};
      break;
    case DayPart::evening:
      every.ranges = {{17 * kHour, 22 * kHour - 1}};
      break;
    case DayPart::night:
      every.ranges = {{22 * kHour, kDayEnd}, {0, 5 * kHour - 1}};
      break;
  }
  out.axis = Axis::clock, out.ranges = every.ranges, out.grain = Grain::part, out.name = "part-of-day";
  return j + 1;
}

}  // namespace quern::memory
