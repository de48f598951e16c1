// Times of day: "at 3 pm", "around half past two", "after 9 in the evening", "between 2 and 4", "before noon".
#include <fmt/format.h>

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
    case DayPart::late:
      return hour == 12 ? at - 12 * kHour : hour >= 6 ? at + 12 * kHour : at;
    case DayPart::small_hours:
      return hour == 12 ? at - 12 * kHour : at;
  }
  return at;
}

}  // namespace

std::vector<TimeRange> hours_of(DayPart part) {
  switch (part) {
    case DayPart::morning:
      return {{5 * kHour, 12 * kHour - 1}};
    case DayPart::afternoon:
      return {{12 * kHour, 17 * kHour - 1}};
    case DayPart::evening:
      return {{17 * kHour, 22 * kHour - 1}};
    case DayPart::night:
      return {{22 * kHour, kDayEnd}, {0, 5 * kHour - 1}};
    case DayPart::late:
      return {{17 * kHour, kDayEnd}, {0, 5 * kHour - 1}};
    case DayPart::small_hours:
      return {{0, 5 * kHour - 1}};
  }
  return {};
}

// "in the afternoon", "at night" behind an hour
size_t TimeParser::part_behind(size_t i, DayPart& part) const {
  size_t j = i;
  if (is(j, Word::in) || is(j, Word::at)) ++j;
  j = skip(j, Word::the);
  if (j == i || !is(j, Lex::part) || t_[j].plural) return 0;
  part = static_cast<DayPart>(t_[j].value);
  return j + 1;
}

// "ten past six", "twenty to seven", "half eight"
size_t TimeParser::minutes_beside(size_t i, ClockPoint& out) const {
  auto hour_here = [&](size_t k) {
    return is(k, Lex::number) && t_[k].value >= 1 && t_[k].value <= 12 && !t_[k].digits;
  };
  if (is(i, Word::half) && hour_here(i + 1) &&
      (sentence_end(i + 2) || names_day(i + 2) || is(i + 2, Word::last) || is(i + 2, Word::in) ||
       is(i + 2, Word::on) || is(i + 2, Word::this_))) {
    out.at = t_[i + 1].value * kHour + 1800, out.bare = true;
    return i + 2;
  }
  int64_t minutes = 0;
  const size_t k = number(i, minutes);
  if (!k || minutes < 1 || minutes > 29 || !(is(k, Word::past) || is(k, Word::to))) return 0;
  if (is(k, Word::to) && (t_[i].digits || minutes % 5 != 0)) return 0;  // "ten to six", and not "4 to 6"
  if (!hour_here(k + 1) && !(is(k, Word::past) && is(k + 1, Lex::number) && t_[k + 1].value <= 24)) return 0;
  out.at = t_[k + 1].value * kHour + static_cast<int32_t>(minutes) * (is(k, Word::past) ? 60 : -60), out.bare = true;
  if (out.at < 0) out.at += 12 * kHour;
  return k + 2;
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
    out.at = t_[i].value, out.whole_hour = !t_[i].digits || t_[i].value % kHour == 0;
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
  if (const size_t end = minutes_beside(i, out)) return with_part(end);
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
  const bool close = said(i, "shortly") || said(i, "right") || is(i, Word::exactly) || said(i, "soon");
  if (close && (is(i + 1, Word::after) || is(i + 1, Word::before))) ++j;
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
  if (close && j == i) return 0;
  if (from) {
    if (!is(end, Word::onward) && !(is(end, Word::on) && (sentence_end(end + 1) || is(end + 1, Word::onward))))
      return 0;
    end += is(end, Word::on) && is(end + 1, Word::onward) ? 2 : 1;
  }
  guessed = p.bare;
  const int32_t t = before && p.alone && p.at >= 6 * kHour ? p.at : waking(p);
  if (j > i + (bare ? 0 : 1) && close && (after || before))  // shortly: an hour
    lo = std::max(0, after ? t : t - kHour), hi = std::min(kDayEnd, after ? t + kHour - 1 : t - 1), guessed = true;
  else if (after)
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
  const bool taken_away = excepting_ && is(j, Word::the);  // "yesterday except the morning"
  if (!(is(j, Word::in) || is(j, Word::at) || taken_away)) return 0;
  if (!taken_away) ++j;
  if (is(j, Word::the)) ++j;
  if (is(j, Word::early) || is(j, Word::late)) ++j;
  if (!is(j, Lex::part) || t_[j].plural) return 0;
  out.axis = Axis::clock, out.ranges = hours_of(static_cast<DayPart>(t_[j].value)), out.grain = Grain::part,
  out.name = "part-of-day";
  return j + 1;
}

namespace {

bool meets(const TimeRange& a, const TimeRange& b) { return a.lo <= b.hi && b.lo <= a.hi; }

// Hours of the day that a date with a part of the day, or a part of it by itself, leaves; none where it is no such.
std::vector<TimeRange> hours_left(const TimeConstraint& c) {
  if (c.axis == Axis::clock && (c.name == std::string_view("part-of-day") || c.name == std::string_view("every-day")))
    return c.ranges;
  if (c.axis != Axis::date || c.grain != Grain::part || c.ranges.size() != 1) return {};
  const TimeRange r = c.ranges[0];
  const Day d = day_part(r.lo);
  const int64_t lo = r.lo - d * kDaySeconds, hi = r.hi - d * kDaySeconds;
  if (hi < kDaySeconds) return {{lo, hi}};
  return {{lo, kDaySeconds - 1}, {0, hi - kDaySeconds}};  // a night
}

}  // namespace

// "yesterday evening around nine", "at half eight in the morning on Monday": of two hours of a clock with twelve, the one
// that lies in the part of the day. Hours that were guessed are named.
void TimeParser::settle_hours() {
  for (TimeConstraint& c : out_.constraints) {
    if (c.axis != Axis::clock || c.ranges.size() != 1) continue;
    const bool named = c.name == std::string_view("clock") || c.name == std::string_view("clock-bare");
    if (!named) continue;
    bool settled = false;
    for (const TimeConstraint& other : out_.constraints) {
      if (&other == &c || other.join == TimeJoin::except) continue;
      const std::vector<TimeRange> left = hours_left(other);
      if (left.empty()) continue;
      auto fits = [&](const TimeRange& r) {
        return std::any_of(left.begin(), left.end(), [&](const TimeRange& l) { return meets(l, r); });
      };
      // the whole of it inside, else that which meets
      const TimeRange now = c.ranges[0];
      settled = true;
      if (fits(now) && !(now.hi == kDayEnd || now.lo == 0)) continue;
      for (const int64_t half : {int64_t{12} * kHour, -int64_t{12} * kHour}) {
        TimeRange r{now.lo == 0 ? 0 : now.lo + half, now.hi == kDayEnd ? int64_t{kDayEnd} : now.hi + half};
        const int64_t point = now.lo == 0 ? r.hi : r.lo;
        if (r.lo < 0 || r.hi > kDayEnd || r.lo > r.hi || !fits({point, point})) continue;
        const int64_t old = now.lo == 0 ? now.hi : now.lo;
        if (!fits({old, old})) c.ranges[0] = r;
        break;
      }
    }
    if (c.name == std::string_view("clock-bare") && !settled)
      out_.notes.push_back(fmt::format("'{}' is taken as {} to {}", text_.substr(c.begin, c.end - c.begin),
                                       clock_text(static_cast<int32_t>(c.ranges[0].lo)),
                                       clock_text(static_cast<int32_t>(c.ranges[0].hi))));
  }
}

}  // namespace quern::memory
