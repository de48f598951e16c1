// Times of day: "at 3 pm", "around half past two", "after 9 in the evening", "between 2 and 4", "before noon".
#include <algorithm>

#include "quern/memory/time/time_parser.h"

namespace quern::memory {
namespace {

constexpr int32_t kHour = 3600, kDayEnd = 86399;

// An hour of twelve, in a part of the day.
int32_t in_part(int32_t at, DayPart part) {
  const int32_t hour = at / kHour;
  if (hour > 12) return at;
  switch (part) {
    case DayPart::morning:
      return hour == 12 ? at - 12 * kHour : at;
    case DayPart::afternoon:
    case DayPart::evening:
      return hour == 12 ? at : at + 12 * kHour;
    case DayPart::night:
      return hour == 12 ? at - 12 * kHour : hour >= 6 ? at + 12 * kHour : at;
  }
  return at;
}

}  // namespace

// "in the afternoon", "at night" behind an hour
size_t TimeParser::part_behind(size_t i, DayPart& part) const {
  size_t j = i;
  if (is(j, Word::in) || is(j, Word::at)) ++j;
  j = skip(j, Word::the);
  if (j == i || !is(j, Lex::part) || t_[j].plural) return 0;
  part = static_cast<DayPart>(t_[j].value);
  return j + 1;
}

// "15:30", "3 pm", "noon", "three o'clock", "half past two", "a quarter to five", "9 in the evening"; a bare hour only
// when asked for
size_t TimeParser::clock_point(size_t i, ClockPoint& out) const {
  out = {};
  auto hour_here = [&](size_t k) { return is(k, Lex::number) && t_[k].value <= 24 && t_[k].word != Word::hundred; };
  auto with_part = [&](size_t end) {
    DayPart part = DayPart::morning;
    if (const size_t more = part_behind(end, part)) {
      out.at = in_part(out.at, part), out.bare = false;
      return more;
    }
    if (is(end, Word::am) || is(end, Word::pm)) {  // half past seven pm
      out.at = in_part(out.at, is(end, Word::am) ? DayPart::morning : DayPart::afternoon), out.bare = false;
      return end + 1;
    }
    return end;
  };
  if (is(i, Lex::clock)) {
    out.at = t_[i].value, out.whole_hour = !t_[i].digits;
    return t_[i].weak ? with_part(i + 1) : i + 1;
  }
  if (is(i, Word::noon) || is(i, Word::midnight)) {
    out.at = t_[i].value, out.whole_hour = true, out.midnight = is(i, Word::midnight);
    return i + 1;
  }
  if (is(i, Word::half) && is(i + 1, Word::past) && is(i + 2, Lex::clock) && !t_[i + 2].digits) {  // half past 7 pm
    out.at = t_[i + 2].value + 1800;
    return i + 3;
  }
  const bool half = is(i, Word::half) && is(i + 1, Word::past) && hour_here(i + 2);
  const size_t q = skip(i, Word::a);
  const bool quarter =
      is_unit(q, Unit::quarter) && (is(q + 1, Word::past) || is(q + 1, Word::to)) && hour_here(q + 2);
  if (half || quarter) {
    const size_t hour = half ? i + 2 : q + 2;
    out.at = t_[hour].value * kHour + (half ? 1800 : is(q + 1, Word::past) ? 900 : -900);
    out.bare = true;
    if (out.at < 0) out.at += 12 * kHour;
    const size_t oclock = said(hour + 1, "o'clock") || said(hour + 1, "oclock") ? hour + 2 : hour + 1;
    return with_part(oclock);
  }
  if (!hour_here(i)) return 0;
  out.at = t_[i].value % 24 * kHour, out.whole_hour = true;
  if (said(i + 1, "o'clock") || said(i + 1, "oclock") || said(i + 1, "hours") || said(i + 1, "h")) {
    out.bare = t_[i].value <= 12;
    return with_part(i + 2);
  }
  DayPart part = DayPart::morning;
  if (const size_t more = part_behind(i + 1, part)) {
    out.at = in_part(out.at, part);
    return more;
  }
  out.bare = true, out.alone = true;
  return i + 1;
}

// Nothing that a number at i could count or belong to follows.
bool TimeParser::counts_nothing(size_t i) const {
  return sentence_end(i) || is(i, Word::on) || is(i, Word::we) || said(i, "did") || said(i, "was") ||
         is(i, Word::in) || is(i, Word::and_) || is(i, Lex::day_word) || is(i, Lex::weekday) || is(i, Word::last) ||
         is(i, Word::this_) || said(i, "what") || dash(i);
}

// A bare hour is one of the waking day: 7 to 12 as they stand, 1 to 6 in the afternoon.
int32_t TimeParser::waking(const ClockPoint& p) const {
  return p.bare && p.at < 7 * kHour ? p.at + 12 * kHour : p.at;
}

size_t TimeParser::clock_span(size_t i, int32_t& lo, int32_t& hi, bool& guessed) const {
  ClockPoint a, b;
  const size_t k = clock_point(i, a);
  if (!k || !(is(k, Word::and_) || is(k, Word::to) || is(k, Word::until) || dash(k))) return 0;
  const size_t end = clock_point(dash(k) && !is(k, Word::to) ? k : k + 1, b);
  if (!end || (b.alone && (!a.alone || !counts_nothing(end)))) return 0;
  if (a.alone && b.alone && !is(i - 1, Word::between) && !is(i - 1, Word::from)) return 0;
  if (a.bare && b.bare) {
    a.at = waking(a), b.at = waking(b), guessed = true;
  } else if (a.bare) {  // "between 2 and 4 pm"
    a.at = a.at % (12 * kHour) + (b.at >= 12 * kHour ? 12 * kHour : 0);
    if (a.at > b.at) a.at -= 12 * kHour;
  }
  if (b.at <= a.at && b.midnight) b.at = kDayEnd + 1;
  if (a.at < 0 || a.at >= b.at) return 0;
  lo = a.at, hi = b.at - 1;
  return end;
}

// at 3 pm, around 15:30, after 5 pm, before noon, between 2 and 4 pm, from 2 pm to 4 pm, from 6 pm on
bool TimeParser::names_day(size_t i) const {
  return is(i, Lex::date) || is(i, Lex::month) || is(i, Lex::year) || is(i, Lex::weekday) || is(i, Lex::day_word) ||
         is(i, Lex::number) || is(i, Lex::ordinal);
}

size_t TimeParser::clock_time(size_t i, int32_t& lo, int32_t& hi, bool& guessed) const {
  size_t j = i;
  guessed = false;
  if (is(j, Word::between) || is(j, Word::from))
    if (const size_t end = clock_span(j + 1, lo, hi, guessed)) return end;
  if (is(j, Lex::clock) || (is(j, Lex::number) && dash(j + 1) && is(j + 1, Lex::clock)))  // 8-9am
    if (const size_t end = clock_span(j, lo, hi, guessed)) return end;
  const bool from = is(j, Word::from);
  const bool after = is(j, Word::after) || is(j, Word::since) || is(j, Word::past) || phrase(j, "later than") || from;
  const bool before = is(j, Word::before) || is(j, Word::until) || is(j, Word::by) || phrase(j, "earlier than") ||
                      phrase(j, "prior to");
  const bool around =
      is(j, Word::around) || said(j, "towards") || said(j, "toward") || said(j, "near") || said(j, "circa");
  const bool at = is(j, Word::at);
  const bool bare = is(j, Lex::clock) && j > 0 && !t_[j].starts && names_day(j - 1);  // "on 4 March 17:00"
  if (!after && !before && !around && !at && !bare) return 0;
  if (!bare) j += phrase(j, "later than") || phrase(j, "earlier than") || phrase(j, "prior to") ? 2 : 1;
  const bool about = at && is(j, Word::around);
  if (about) ++j;
  ClockPoint p;
  size_t end = clock_point(j, p);
  if (!end || (p.alone && (is(i, Word::since) || is(i, Word::past) || is(i, Word::by) || !counts_nothing(end))))
    return 0;
  if (from) {
    if (!is(end, Word::onward) && !(is(end, Word::on) && (sentence_end(end + 1) || is(end + 1, Word::onward))))
      return 0;
    end += is(end, Word::on) && is(end + 1, Word::onward) ? 2 : 1;
  }
  guessed = p.bare;
  const int32_t t = before && p.alone && p.at >= 6 * kHour ? p.at : waking(p);
  if (after)
    lo = t, hi = p.midnight ? 5 * kHour - 1 : kDayEnd;
  else if (before)
    lo = 0, hi = p.midnight ? kDayEnd : std::max(0, t - 1);
  else if (around || about)
    lo = std::max(0, t - kHour), hi = std::min(kDayEnd, t + kHour);
  else
    lo = t, hi = std::min(kDayEnd, t + (p.whole_hour ? kHour : 60) - 1);
  return end;
}

size_t TimeParser::clock_clause(size_t i, TimeConstraint& out) const {
  int32_t lo, hi;
  bool guessed = false;
  size_t end = clock_time(i, lo, hi, guessed);
  if (end) {
    out.axis = Axis::clock, out.ranges = {{lo, hi}}, out.grain = Grain::part,
    out.name = guessed ? "clock-bare" : "clock";
    return end;
  }
  // "in the morning" with the day said elsewhere
  size_t j = i;
  if (is(j, Word::late) && is(j + 1, Word::at)) ++j;
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
