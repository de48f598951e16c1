// Periods relative to now ("three weeks ago", "last Tuesday", "the past month", "Tuesday evening").
//
// "last week" is the previous calendar week; "the last week", "the past week" and "the last three days" reach back
// from today. Grain widens: "two months ago" is that whole month, "two weeks ago" that week from Monday.
#include <algorithm>

#include "quern/memory/time/time_parser.h"

namespace quern::memory {
namespace {

constexpr int32_t kHour = 3600;
struct PartHours {
  int32_t lo, hi;  // seconds from the day's beginning, both inside; nights end on the next day
};
constexpr PartHours kParts[] = {{5 * kHour, 12 * kHour - 1},  {12 * kHour, 17 * kHour - 1},
                                {17 * kHour, 22 * kHour - 1}, {22 * kHour, 29 * kHour - 1},
                                {17 * kHour, 29 * kHour - 1}, {0, 5 * kHour - 1}};

}  // namespace

Period TimeParser::day_part_period(Day d, DayPart part, PartBounds bounds) const {
  const PartHours b = kParts[static_cast<size_t>(part)];
  Period p;
  // Said of today or loosely, a morning begins at midnight and a night in the evening.
  p.lo = d * kDaySeconds + (bounds == PartBounds::strict ? b.lo
                            : part == DayPart::night     ? 17 * kHour
                            : part == DayPart::morning   ? 0
                                                         : b.lo);
  p.hi = d * kDaySeconds + b.hi;
  p.grain = Grain::part, p.name = "part-of-day";
  return p;
}

// The whole unit that lies `steps` before the one now.
Period TimeParser::unit_around(Unit u, int64_t steps) const {
  const int s = static_cast<int>(std::min<int64_t>(steps, 200'000));
  switch (u) {
    case Unit::day:
      return Period::days(today_ - s, today_ - s, Grain::day, "day");
    case Unit::week: {
      const Day lo = week_begin(today_) - 7 * s;
      return Period::days(lo, lo + 6, Grain::week, "week");
    }
    case Unit::weekend: {  // Saturday and Sunday
      const Day lo = week_begin(today_) + 5 - 7 * s;
      return Period::days(lo, lo + 1, Grain::week, "weekend");
    }
    case Unit::month: {
      const Day lo = add_months(month_begin(today_), -s);
      return Period::days(lo, add_months(lo, 1) - 1, Grain::month, "month");
    }
    case Unit::quarter: {
      const Civil c = civil(today_);
      const Day lo = add_months(day_of(c.year, (c.month - 1) / 3 * 3 + 1, 1), -3 * int64_t{s});
      return Period::days(lo, add_months(lo, 3) - 1, Grain::season, "quarter");
    }
    case Unit::decade:
    case Unit::year: {
      const Civil c = civil(today_);
      const int span = u == Unit::year ? 1 : 10;
      const int y = std::max(1, (u == Unit::year ? c.year : c.year / 10 * 10) - s * span);
      return Period::days(day_of(y, 1, 1), day_of(y + span - 1, 12, 31), Grain::year, "year");
    }
    case Unit::second:
    case Unit::minute:
    case Unit::hour:
      break;
  }
  // Moments are not said to the second: half an hour each way, five minutes, one.
  const int64_t one = u == Unit::hour ? kHour : u == Unit::minute ? 60 : 1;
  const int64_t slack = u == Unit::hour ? kHour / 2 : u == Unit::minute ? 300 : 60;
  Period p;
  p.lo = clock_.now - steps * one - slack, p.hi = clock_.now - steps * one + slack;
  p.grain = Grain::second, p.name = "moment";
  return p;
}

size_t TimeParser::day_word(size_t i, Period& out) const {
  size_t j = skip(i, Word::the);
  if (is(j, Word::day) && !t_[j].plural && (is(j + 1, Word::before) || is(j + 1, Word::after)) &&
      is(j + 2, Lex::day_word)) {
    const int32_t other = t_[j + 2].value;
    if (other > 1) return 0;
    const Day d = today_ + other + (is(j + 1, Word::before) ? -1 : 1);
    out = Period::days(d, d, Grain::day, "day");
    return j + 3;
  }
  const bool earlier = is(i, Word::earlier);
  if (earlier && is(i + 1, Word::in) && is(i + 2, Word::the) && is(i + 3, Lex::unit) && !t_[i + 3].plural &&
      t_[i + 3].value >= static_cast<int32_t>(Unit::week)) {  // earlier in the week
    out = unit_around(static_cast<Unit>(t_[i + 3].value), 0);
    return i + 4;
  }
  if (earlier) {
    j = i + 1;
    if (is(j, Word::on)) ++j;
    j = skip(j, Word::in);
    j = skip(j, Word::the);
    if (is(j, Word::this_)) ++j;
    if (is(j, Lex::part) && !t_[j].plural && j > i + 1) {
      out = day_part_period(today_, static_cast<DayPart>(t_[j].value), PartBounds::loose);
      out.hi = std::min(out.hi, clock_.now), out.lo = std::min(out.lo, out.hi);
      out.soft = true, out.rule = TimeRule::earlier_today, out.name = "earlier-today";
      return j + 1;
    }
    j = i + 1;
  }
  if (is(j, Lex::day_word)) {
    const int32_t v = t_[j].value;
    if (v == 100) {  // tonight
      out = day_part_period(today_, DayPart::night, PartBounds::loose);
      return j + 1;
    }
    out = Period::days(today_ + v, today_ + v, Grain::day, "day");
    if (v == 0 && (earlier || is(j + 1, Word::earlier)) && !is(j + 1, Lex::unit)) {
      out.hi = clock_.now;
      out.rule = TimeRule::earlier_today, out.soft = true, out.name = "earlier-today";
      return earlier ? j + 1 : j + 2;
    }
    return j + 1;
  }
  if (is(j, Word::night) && is(j + 1, Word::before) && is(j + 2, Word::last)) {
    out = day_part_period(today_ - 2, DayPart::night, PartBounds::loose);
    return is(j + 3, Word::night) ? j + 4 : j + 3;
  }
  if (is(j, Word::last) && is(j + 1, Word::night)) {
    out = day_part_period(today_ - 1, DayPart::night, PartBounds::loose);
    return j + 2;
  }
  if ((is(j, Word::this_) || is(j, Word::last)) && is(j + 1, Lex::part) && !t_[j + 1].plural) {
    const DayPart part = static_cast<DayPart>(t_[j + 1].value);
    out = day_part_period(today_ - (is(j, Word::last) ? 1 : 0), part, PartBounds::loose);
    return j + 2;
  }
  return 0;
}

// "three weeks ago", "a couple of days back", "half a year ago", "two Tuesdays ago", "a week ago Tuesday"
size_t TimeParser::ago(size_t i, Period& out) const {
  size_t j = skip(i, Word::exactly);
  if (is(j, Word::around)) ++j;
  const bool exact = j > i && is(i, Word::exactly) && !said(i, "just");
  int64_t v = 0;
  if (is(j, Word::half) && is(j + 1, Word::a) && (is_unit(j + 2, Unit::year) || is_unit(j + 2, Unit::hour)) &&
      (is(j + 3, Word::ago) || is(j + 3, Word::back))) {
    out = is_unit(j + 2, Unit::year) ? unit_around(Unit::month, 6) : unit_around(Unit::minute, 30);
    return j + 4;
  }
  const size_t after_count = count(j, v);
  if (!after_count) return 0;
  size_t k = after_count;
  if (is(k, Lex::unit) || is(k, Word::night)) {
    const bool night = is(k, Word::night);
    const bool fortnight = !night && t_[k].value == -2;
    const Unit u = night ? Unit::day : fortnight ? Unit::week : static_cast<Unit>(t_[k].value);
    size_t end = k + 1;
    bool years_and_half = false;
    if (u == Unit::week && v == 1 && is(end, Word::and_) && is(end + 1, Word::a) && is(end + 2, Word::half) &&
        is(end + 3, Word::ago)) {
      out = Period::days(today_ - 11, today_ - 10, Grain::day, "ago");
      return end + 4;
    }
    if (u == Unit::year && is(end, Word::and_) && is(end + 1, Word::a) && is(end + 2, Word::half))
      years_and_half = true, end += 3;
    if (!(is(end, Word::ago) || is(end, Word::back) || (is(end, Word::earlier) && sentence_end(end + 1)) ||
          (is(end, Word::previous) && sentence_end(end + 1))))
      return 0;
    ++end;
    const int64_t steps = fortnight ? 2 * v : v;
    if (years_and_half) {
      out = unit_around(Unit::month, 12 * v + 6);
      return end;
    }
    out = unit_around(u, steps);
    out.name = "ago";
    if (night) {
      out = day_part_period(today_ - static_cast<Day>(std::min<int64_t>(v, 200'000)), DayPart::night,
                            PartBounds::loose);
      return end;
    }
    if (u == Unit::day) out.rule = TimeRule::days_ago, out.argument = v;
    if (u == Unit::week && is(end, Lex::day_word) && t_[end].value == -1) {  // a week ago yesterday
      const Day d = today_ - static_cast<Day>(7 * std::min<int64_t>(steps, 100'000)) - 1;
      out = Period::days(d, d, Grain::day, "ago");
      return end + 1;
    }
    const size_t exactly = phrase(end, "to the day");
    const bool to_the_day = exact || exactly || (is(end, Lex::day_word) && t_[end].value == 0);
    if (to_the_day && u != Unit::day && u >= Unit::day) {
      const Day d = u == Unit::week    ? today_ - static_cast<Day>(7 * std::min<int64_t>(steps, 100'000))
                    : u == Unit::month ? add_months(today_, -steps)
                    : u == Unit::year  ? add_months(today_, -12 * steps)
                                       : today_;
      if (u == Unit::week || u == Unit::month || u == Unit::year) out = Period::days(d, d, Grain::day, "ago");
      if (is(end, Lex::day_word)) ++end;
      return exactly ? exactly : end;
    }
    size_t w = is(end, Word::on) ? end + 1 : end;
    if (u == Unit::week && weekday_here(w) && !t_[w].plural) {  // "two weeks ago on Friday"
      const Day d = out.first() + t_[w].value;
      out = Period::days(d, d, Grain::day, "ago");
      return w + 1;
    }
    return end;
  }
  if (is(k, Lex::weekday) && (is(k + 1, Word::ago) || is(k + 1, Word::back)) && v > 0) {
    const Day latest = today_ - ((weekday_of(today_) - t_[k].value + 6) % 7 + 1);
    const Day d = latest - static_cast<Day>(7 * (std::min<int64_t>(v, 100'000) - 1));
    out = Period::days(d, d, Grain::day, "ago");
    return k + 2;
  }
  return 0;
}

// The n units up to now.
void TimeParser::last_units(Unit u, int64_t n, Period& out) const {
  Day lo = today_;
  switch (u) {
    case Unit::day:
      lo = today_ - static_cast<Day>(n);
      break;
    case Unit::week:
      lo = today_ - static_cast<Day>(7 * n);
      break;
    case Unit::month:
      lo = add_months(today_, -n);
      break;
    case Unit::year:
      lo = add_months(today_, -12 * n);
      break;
    case Unit::decade:
      lo = add_months(today_, -120 * n);
      break;
    default:
      out.lo = clock_.now - n * (u == Unit::hour ? kHour : u == Unit::minute ? 60 : 1), out.hi = clock_.now;
      out.grain = Grain::second, out.name = "rolling";
      return;
  }
  out = Period::days(lo, today_, u == Unit::day ? Grain::day : Grain::week, "rolling");
}

size_t TimeParser::this_or_last_unit(size_t i, Period& out) const {
  size_t j = i;
  bool article = false, here = false, in_front_over = i > 0 && (is(i - 1, Word::over) || said(i - 1, "within"));
  if (is(j, Word::the) || is(j, Word::our)) ++j, article = true;
  if (is(j, Word::this_) && (is(j + 1, Word::last) || is(j + 1, Word::past) || is(j + 1, Word::previous) ||
                             is(j + 1, Word::current) || is(j + 1, Word::upcoming)))
    ++j, here = true;
  if (j >= n_) return 0;
  const Word which = t_[j].word;
  if (which == Word::most && is(j + 1, Word::recent)) ++j;
  const bool rolling_word = which == Word::past || (which == Word::last && !said(j, "final")) ||
                            which == Word::previous || which == Word::most;
  const bool this_word = which == Word::this_ || which == Word::current;
  const bool next_word = which == Word::next || which == Word::upcoming || (here && which == Word::upcoming);
  if (!rolling_word && !this_word && !next_word) return 0;
  ++j;
  int64_t v = 1;
  bool counted = false;
  if (const size_t k = count(j, v); k && !is(j, Word::a)) j = k, counted = true;
  if (is(j, Word::half) && is_unit(j + 1, Unit::year)) {
    out = Period::days(add_months(today_, -6), today_, Grain::week, "rolling");
    return j + 2;
  }
  if (is(j, Word::half) && is_unit(j + 1, Unit::hour)) {  // the last half hour
    out.lo = clock_.now - kHour / 2, out.hi = clock_.now, out.grain = Grain::second, out.name = "rolling";
    return j + 2;
  }
  if (!counted && (said(j, "full") || said(j, "whole") || said(j, "entire") || said(j, "complete")))
    ++j, article = false;
  if (!is(j, Lex::unit)) return 0;
  const bool fortnight = t_[j].value == -2;
  const Unit u = fortnight ? Unit::week : static_cast<Unit>(t_[j].value);
  if (fortnight) v *= 2, counted = true;
  const size_t end = j + 1;
  if (next_word) {
    out = unit_around(u, 0);
    const int64_t width = out.hi - out.lo + 1;
    out.lo = std::max(out.hi + 1, clock_.now + 1), out.hi = out.lo + v * width - 1, out.name = "next";
    return end;
  }
  if (this_word) {
    if (counted) return 0;
    if (u == Unit::weekend && weekday_of(today_) < 5 && !said(i, "this")) return 0;
    // before Saturday "this weekend" is the one before, unless it is what the talk was about
    const bool subject = i > 0 && (said(i - 1, "for") || said(i - 1, "about"));
    out = unit_around(u, u == Unit::weekend && weekday_of(today_) < 5 && !subject ? 1 : 0);
    if (u < Unit::day) return 0;
    return end;
  }
  const bool rolling = counted || which == Word::past || (which == Word::last && (article || here)) ||
                       (which == Word::previous && (here || in_front_over)) || u < Unit::day || which == Word::most;
  if (u == Unit::weekend || u == Unit::quarter || !rolling) {
    out = unit_around(u, 1);
    if (u == Unit::weekend && counted && v > 1)
      out = Period::days(unit_around(u, v).first(), out.last(), Grain::week, kWeekendsBack);
    else if (u == Unit::quarter && counted && v > 1)
      out = Period::days(unit_around(u, v).first(), out.last(), Grain::season, "quarter");
    return end;
  }
  if (v < 1) return 0;
  last_units(u, std::min<int64_t>(v, 100'000), out);
  return end;
}

// "the week before last", "the Tuesday before last", "the weekend before last"
size_t TimeParser::before_last(size_t i, Period& out) const {
  size_t j = skip(i, Word::the);
  if (is(j, Lex::unit) && t_[j].value >= static_cast<int32_t>(Unit::day) && is(j + 1, Word::before) &&
      is(j + 2, Word::this_) &&
      (is(j + 3, Word::one) || (is(j + 3, Lex::unit) && t_[j + 3].value == t_[j].value))) {  // before this one
    out = unit_around(static_cast<Unit>(t_[j].value), 1);
    return j + 4;
  }
  if ((is(j, Lex::unit) || is(j, Lex::weekday)) && is(j + 1, Word::previous) && is(j + 2, Word::to) &&
      is(j + 3, Word::last) && sentence_end(j + 4) &&
      (is(j, Lex::weekday) || t_[j].value >= static_cast<int32_t>(Unit::day))) {
    if (is(j, Lex::unit)) {
      out = unit_around(static_cast<Unit>(t_[j].value), 2);
      return j + 4;
    }
  }
  if (!(is(j, Lex::unit) || weekday_here(j)) || !is(j + 1, Word::before) || !is(j + 2, Word::last) ||
      is(j + 3, Lex::session))
    return 0;
  if (is(j + 3, Lex::unit) || is(j + 3, Lex::weekday)) {  // "the week before last week" says the same
    if (!(is(j + 3, t_[j].lex) && t_[j + 3].value == t_[j].value)) return 0;
  }
  const size_t end = j + 3 + (is(j + 3, Lex::unit) || is(j + 3, Lex::weekday) ? 1 : 0);
  if (is(j, Lex::unit)) {
    if (t_[j].value < static_cast<int32_t>(Unit::day)) return 0;
    out = unit_around(static_cast<Unit>(t_[j].value), 2);
  } else {
    const Day latest = today_ - ((weekday_of(today_) - t_[j].value + 6) % 7 + 1);
    out = Period::days(latest - 7, latest - 7, Grain::day, "named-day");
  }
  return end;
}

// "Tuesday", "last Tuesday", "Tuesday of last week", "last week's Tuesday", "Tuesday two weeks ago"
size_t TimeParser::named_day(size_t i, Period& out) const {
  auto on = [&](Day d) { out = Period::days(d, d, Grain::day, "named-day"); };
  auto of_week = [&](Day d) { out = Period::days(d, d, Grain::day, kDayOfNamedWeek); };
  size_t j = skip(i, Word::the);
  // last week on Tuesday, last week's Tuesday
  Period week;
  if (const size_t k = this_or_last_unit(i, week); k && is_unit(k - 1, Unit::week) && week.grain == Grain::week) {
    size_t d = is(k, Word::on) ? k + 1 : k;
    d = skip(d, Word::the);
    if (is(d, Lex::weekday) && !t_[d].plural && !excepted_behind(d + 1) && week.last() - week.first() == 6) {
      of_week(week.first() + t_[d].value);
      return d + 1;
    }
  }
  bool last = false, here = false;
  if (is(j, Word::this_)) ++j, here = true;
  if (is(j, Word::last) || is(j, Word::past) || is(j, Word::previous)) ++j, last = true;
  if (is(j, Word::most) && is(j + 1, Word::recent)) j += 2, last = true;
  if (is(j, Word::next) || is(j, Word::upcoming)) {
    if (!is(j + 1, Lex::weekday)) return 0;
    const int ahead = (t_[j + 1].value - weekday_of(today_) + 6) % 7 + 1;
    on(today_ + ahead);
    return j + 2;
  }
  if (!weekday_here(j) || t_[j].plural || (is(j + 1, Lex::part) && t_[j + 1].plural)) return 0;
  const int w = t_[j].value;
  size_t k = j + 1;
  int number = 0;
  if (const size_t end = day_number(skip(k, Word::the), number); end && is(end - 1, Lex::ordinal) && !last && !here &&
                                                                 number <= 31 &&
                                                                 (t_[end - 1].digits || is(k, Word::the))) {
    for (Day d = today_; d > today_ - 1500; --d)  // "Sunday the 3rd"
      if (weekday_of(d) == w && civil(d).day == number) {
        on(d);
        return end;
      }
  }
  if (!last && !here && !(excepting_ && sentence_end(k))) {  // "except Monday, last week"
    size_t m = k;
    if (is(m, Word::of) || is(m, Word::in)) ++m;
    if (const size_t end = this_or_last_unit(m, week);
        end && is_unit(end - 1, Unit::week) && week.last() - week.first() == 6) {
      of_week(week.first() + w);
      return end;
    }
    if (const size_t end = w >= 5 ? this_or_last_unit(m, week) : 0; end && is_unit(end - 1, Unit::weekend)) {
      on(week.first() + w - 5);
      return end;
    }
    if (const size_t end = ago(m, week); end && week.grain == Grain::week) {
      of_week(week.first() + w);
      return end;
    }
    if (is(m, Word::last) && sentence_end(m + 1)) k = m + 1;  // "Tuesday last"
  }
  const Day latest = today_ - ((weekday_of(today_) - w + 6) % 7 + 1);
  if (here && !last && weekday_of(today_) == w)
    on(today_);
  else
    on(latest);
  out.rule = TimeRule::named_day, out.argument = w;
  return k;
}

// "last May", "this May", "last summer" is season's; "the weekend"; "the year so far", "month to date"
size_t TimeParser::named_relative(size_t i, Period& out) const {
  size_t j = skip(i, Word::the);
  if (is(j, Lex::unit) && !t_[j].plural && t_[j].value >= static_cast<int32_t>(Unit::day))
    if (const size_t end = j > i && w_.spelling(j).ends_with("'s") && t_[j].value >= static_cast<int32_t>(Unit::week)
                               ? j + 1
                           : phrase(j + 1, "so far") ? j + 3
                                                     : phrase(j + 1, "to date")) {
      out = unit_around(static_cast<Unit>(t_[j].value), 0);
      return end;
    }
  if (is_unit(j, Unit::weekend) && j == i + 1 && !t_[j].plural) {
    out = unit_around(Unit::weekend, weekday_of(today_) >= 5 ? 0 : 1);
    return j + 1;
  }
  // "the first chat of the year", "the beginning of the month"
  if (j == i + 1 && i > 0 && is(i - 1, Word::of) && is(j, Lex::unit) && !t_[j].plural &&
      t_[j].value >= static_cast<int32_t>(Unit::week)) {
    // "which day of the week" asks, "the first day of the week" says
    const bool asks = i > 2 && (said(i - 3, "which") || said(i - 3, "what") || said(i - 3, "a"));
    const bool of_what =
        !asks &&
        (i > 1 && (is(i - 2, Word::begin) || is(i - 2, Word::end) || is(i - 2, Word::half) || is(i - 2, Word::mid) ||
                   is(i - 2, Lex::session) || is(i - 2, Lex::unit) || is(i - 2, Lex::weekday)));
    if (of_what && !(is(i - 2, Lex::unit) && t_[i - 2].value >= t_[j].value)) {
      out = unit_around(static_cast<Unit>(t_[j].value), 0);
      return j + 1;
    }
  }
  const bool last = is(j, Word::last) || is(j, Word::past) || is(j, Word::previous);
  const bool here = is(j, Word::this_);
  if (!last && !here) return 0;
  ++j;
  if (here && (is(j, Word::past) || is(j, Word::last))) ++j;
  if (!is(j, Lex::month)) return 0;
  const Civil now = civil(today_);
  const int m = t_[j].value;
  const int y = last ? (m < now.month ? now.year : now.year - 1) : (m <= now.month ? now.year : here ? now.year : 0);
  size_t k = j + 1;
  int d;
  if (const size_t with_day = day_number(k, d); with_day && date_exists(y, m, d)) {  // "this May 8th"
    out = Period::days(day_of(y, m, d), day_of(y, m, d), Grain::day, "date");
    return with_day;
  }
  out = Period::days(day_of(y, m, 1), day_of(y, m, month_length(y, m)), Grain::month, "month");
  return k;
}

// A part of the day or an hour behind a single day: "Tuesday evening", "yesterday at 3 pm", "May 8th before noon".
size_t TimeParser::with_part(size_t i, Period& p) const {
  if (p.grain != Grain::day || p.first() != p.last() || p.impossible || p.rule == TimeRule::earlier_today) return i;
  const Day d = p.first();
  const bool absolute = p.absolute;
  size_t j = i;
  if (is(j, Word::in) || is(j, Word::at) || is(j, Word::on)) ++j;
  j = skip(j, Word::the);
  if (is(j, Word::early) || is(j, Word::late)) ++j;
  if (is(j, Lex::part) && !t_[j].plural && !(j > i && sentence_end(i) && i < n_ && t_[i].starts)) {
    // "yesterday night" is as loose as "last night"
    const bool loose = is(j, Word::night) && !absolute && d == today_ - 1 && p.rule == TimeRule::plain;
    p = day_part_period(d, static_cast<DayPart>(t_[j].value), loose ? PartBounds::loose : PartBounds::strict);
    p.absolute = absolute;
    return j + 1;
  }
  if (is(j, Word::noon) && j == i) {  // Wednesday lunchtime
    p.lo = d * kDaySeconds + t_[j].value, p.hi = p.lo + kHour - 1, p.grain = Grain::part, p.name = "clock";
    p.rule = TimeRule::plain;
    return j + 1;
  }
  int32_t lo, hi;
  bool guessed = false;
  if (const size_t end = clock_time(i, lo, hi, guessed)) {
    p.lo = d * kDaySeconds + lo, p.hi = d * kDaySeconds + hi, p.grain = Grain::part,
    p.name = guessed ? "clock-bare" : "clock";
    p.rule = TimeRule::plain;
    return end;
  }
  return i;
}

}  // namespace quern::memory
