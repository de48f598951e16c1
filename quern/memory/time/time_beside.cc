// Periods relative to other periods: "early June", "the first week of July", "the week of May 8th", "two days before
// yesterday", "the Friday after Easter", "the morning of May 8th".
#include <algorithm>

#include "quern/memory/time/period_parts.h"

namespace quern::memory {

// of | in PERIOD, which has a week or more
size_t TimeParser::within(size_t i, Period& base, int depth) const {
  if (excepting_ && sentence_end(i) && !out_.constraints.empty()) {  // "last month apart from the first week"
    const bool recurs = out_.constraints.size() > 1 && out_.constraints.back().axis == Axis::weekday;
    const TimeConstraint& frame = out_.constraints[out_.constraints.size() - (recurs ? 2 : 1)];
    const bool wide = frame.grain == Grain::month || frame.grain == Grain::season || frame.grain == Grain::year;
    if (frame.axis == Axis::date && frame.ranges.size() == 1 && wide && !frame.anchor &&
        frame.ranges[0].lo > kNoBegin && frame.ranges[0].hi < kNoEnd) {
      base = Period::days(day_part(frame.ranges[0].lo), day_part(frame.ranges[0].hi), frame.grain, frame.name);
      return i;
    }
  }
  if (is(i, Word::of) || is(i, Word::in))
    ++i;
  else if (i > 0 && t_[i - 1].word != Word::early && t_[i - 1].word != Word::late && t_[i - 1].word != Word::mid)
    return 0;
  const size_t end = period(i, base, depth + 1);
  return end && base.last() - base.first() >= 6 && !base.impossible ? end : 0;
}

// "early May", "mid-June", "the end of last month", "the first half of July", "the second week of May", "the last
// weekend of June", "the first Monday of June", "the first ten days of May"
size_t TimeParser::part_of_period(size_t i, Period& out, int depth) const {
  size_t j = excepting_ && said(i, "its") ? i + 1 : skip(i, Word::the);
  if (is(j, Word::very)) ++j;
  if (j >= n_) return 0;
  const Word w = t_[j].word;
  if (w != Word::early && w != Word::begin && w != Word::mid && w != Word::late && w != Word::end)
    return counted_part(j, out, depth);
  const bool needs_of = w == Word::begin || w == Word::end || said(j, "middle");
  if (needs_of && !is(j + 1, Word::of)) return 0;
  size_t k = j + 1;
  if (is(k, Word::on) && is(k + 1, Word::in)) ++k;
  Period base;
  const size_t end = within(k, base, depth);
  if (end) out = third_of(base, w);
  return end;
}

// "the first and the last week of June", "the second and third Monday of May"
size_t TimeParser::counted_list(size_t i, TimeConstraint& out) const {
  size_t j = is(i, Word::in) || is(i, Word::on) || is(i, Word::over) ? i + 1 : i;
  std::vector<Counted> all;
  size_t k = 0;
  while (all.size() < kLongestList) {
    j = skip(j, Word::the);
    Counted c{.v = 1};
    c.from_end = is(j, Word::last);
    k = c.from_end ? j + 1 : ordinal(j, c.v);
    if (!k || c.v < 1 || c.v > 400) return 0;
    all.push_back(c);
    const bool and_or = is(k, Word::and_) || is(k, Word::or_);
    if (!and_or && !(k < n_ && t_[k].before == ',')) break;
    j = and_or ? k + 1 : skip(k, Word::and_);
  }
  if (all.size() < 2 || !(is(k, Lex::unit) || is(k, Lex::weekday))) return 0;
  Period base;
  const size_t end = within(k + 1, base, 1);
  if (!end) return 0;
  for (const Counted& c : all) {
    std::optional<Period> one;
    if (is(k, Lex::unit)) {
      one = units_of(base, static_cast<Unit>(t_[k].value), c);
    } else {
      const Day weeks = static_cast<Day>(7 * (c.v - 1));
      const int wd = t_[k].value;
      const Day d = c.from_end ? base.last() - (weekday_of(base.last()) - wd + 7) % 7 - weeks
                               : base.first() + (wd - weekday_of(base.first()) + 7) % 7 + weeks;
      one = days_of(base, d, d, Grain::day);
    }
    if (!one || one->lo > one->hi || one->lo < base.lo || one->hi > base.hi) return 0;
    out.ranges.push_back({one->lo, one->hi});
  }
  out.axis = Axis::date, out.grain = Grain::week, out.absolute = base.absolute, out.name = "part-of-period";
  return end;
}

// "first half of July", "last weekend of June", "first ten days of May"
size_t TimeParser::counted_part(size_t i, Period& out, int depth) const {
  Counted c{.v = 0};
  size_t k = 0;
  if (is(i, Word::last))
    k = i + 1, c.v = 1, c.from_end = true;
  else if (is(i, Word::penultimate))
    k = i + 1, c.v = 2, c.from_end = true;
  else if (said(i, "former") && is(i + 1, Word::half))
    k = i + 1, c.v = 1;
  else
    k = ordinal(i, c.v);
  if (!k || c.v < 1 || c.v > 400) return 0;
  Period base;
  if (is(k, Word::half)) {
    const size_t end = within(k + 1, base, depth);
    if (!end || c.v > 2) return 0;
    out = c.v == 1 && !c.from_end ? sixths_of(base, 0, 3) : sixths_of(base, 3, 6);
    return end;
  }
  if (const size_t m = count(k, c.n); m && !is(k, Word::a)) k = m;
  if (c.n > 1 && c.v != 1) return 0;
  if ((said(k, "third") || said(k, "thirds")) && joined(k)) {
    const size_t end = within(k + 1, base, depth);
    const int64_t past = c.v - 1 + c.n;
    if (!end || past > 3) return 0;
    out = c.n == 1 ? third_of(base, c.from_end || c.v == 3 ? Word::late
                                    : c.v == 2             ? Word::mid
                                                           : Word::early)
                   : sixths_of(base, c.from_end ? static_cast<int>(6 - 2 * past) : 0,
                               c.from_end ? 6 : static_cast<int>(2 * past));
    return end;
  }
  if (is(k, Lex::weekday) && !t_[k].plural) {
    const int wd = t_[k].value;
    const size_t end = within(k + 1, base, depth);
    if (!end) return 0;
    const Day weeks = static_cast<Day>(7 * (c.v - 1)),
              d = c.from_end ? base.last() - (weekday_of(base.last()) - wd + 7) % 7 - weeks
                             : base.first() + (wd - weekday_of(base.first()) + 7) % 7 + weeks;
    if (d < base.first() || d > base.last()) return 0;
    out = days_of(base, d, d, Grain::day, "weekday-of-period");
    return end;
  }
  if (!is(k, Lex::unit) || t_[k].value < static_cast<int32_t>(Unit::day)) return 0;
  const size_t end = within(k + 1, base, depth);
  if (!end) return 0;
  const Unit unit = static_cast<Unit>(t_[k].value);
  if (t_[k].plural && c.v == 1 && c.n == 1 && (unit == Unit::day || unit == Unit::week) &&
      base.grain != Grain::week) {
    out = third_of(base, c.from_end ? Word::late : Word::early);  // "the first days of June"
    return end;
  }
  const std::optional<Period> units = units_of(base, unit, c);
  if (!units) return 0;
  out = *units;
  return out.first() > out.last() ? 0 : end;
}

// the eve of Valentine's Day
size_t TimeParser::eve_of(size_t i, Period& out, int depth) const {
  if (!is(i, Word::the) || !said(i + 1, "eve") || !is(i + 2, Word::of)) return 0;
  Period base;
  const size_t end = period(i + 3, base, depth + 1);
  if (!end || base.impossible || base.grain != Grain::day) return 0;
  out = Period::days(base.first() - 1, base.first() - 1, Grain::day, "beside");
  out.absolute = base.absolute;
  return end;
}

// "the day after May 8th", "two days before yesterday", "the Friday before June 9th", "a week after Easter"
size_t TimeParser::beside_period(size_t i, Period& out, int depth) const {
  size_t j = skip(i, Word::the);
  if (const size_t end = eve_of(i, out, depth)) return end;
  int64_t v = 1;
  bool counted = false, some = false;
  if (const size_t k = count(j, v)) some = counted = true, j = k;
  if (j >= n_ || !(is(j, Lex::unit) || (weekday_here(j) && !t_[j].plural && !some))) return 0;
  if (!some && j == i && !is(j, Lex::weekday)) return 0;
  const bool article = some || j > i;
  const bool fortnight = is(j, Lex::unit) && t_[j].value == -2;
  if (fortnight) v *= 2;
  if (!fortnight && is(j, Lex::unit) && (t_[j].value < static_cast<int32_t>(Unit::day))) return 0;
  const Unit u = fortnight ? Unit::week : is(j, Lex::unit) ? static_cast<Unit>(t_[j].value) : Unit::day;
  const bool named = is(j, Lex::weekday);
  size_t k = j + 1;
  if (is(k, Word::exactly)) ++k;
  bool before, leading = fortnight && !counted;
  if (said(k, "leading") && is(k + 1, Word::up) && is(k + 2, Word::to) && is(j, Lex::unit))
    before = true, k += 3, leading = true;
  else if (is(k, Word::before) || (is(k, Word::previous) && is(k + 1, Word::to)))
    before = true, k += is(k, Word::before) ? 1 : 2;
  else if (is(k, Word::after) || is(k, Word::from))
    before = false, ++k;
  else
    return 0;
  if (is(k, Word::on)) ++k;
  Period base;
  const size_t end = period(k, base, depth + 1);
  if (!end || base.impossible || base.name == std::string_view("next")) return 0;
  if (!article && (!base.absolute || base.grain != Grain::day)) return 0;  // "Monday after Easter"
  const bool absolute = base.absolute;
  if (base.grain == Grain::part && !named && u == Unit::day) {  // "the day before yesterday in the morning"
    const int64_t shift = (before ? -1 : 1) * std::min<int64_t>(v, 10'000) * kDaySeconds;
    out = base;
    out.lo += shift, out.hi += shift;
    return end;
  }
  if (named) {
    const int wd = t_[j].value;
    const Day d = before ? base.first() - ((weekday_of(base.first()) - wd + 6) % 7 + 1)
                         : base.last() + ((wd - weekday_of(base.last()) + 6) % 7 + 1);
    out = Period::days(d, d, Grain::day, "beside");
  } else {
    const int64_t n = std::min<int64_t>(v, 10'000);
    const Day from = before ? base.first() : base.last();
    // "the three days after", "the days before", "the week leading up to": all of them
    const bool spread = (counted && j > i + 1 && is(i, Word::the)) || (!counted && t_[j].plural) || leading;
    if (spread && (u == Unit::day || u == Unit::week)) {
      const int days = static_cast<int>(u == Unit::day ? (!counted && t_[j].plural ? 7 : n) : 7 * n);
      out = before ? Period::days(from - days, from - 1, Grain::week, "beside")
                   : Period::days(from + 1, from + days, Grain::week, "beside");
    } else if (u == Unit::day || counted) {  // one day, as far away
      const Day d = u == Unit::day     ? from + static_cast<Day>(before ? -n : n)
                    : u == Unit::week  ? from + static_cast<Day>(before ? -7 * n : 7 * n)
                    : u == Unit::month ? add_months(from, before ? -n : n)
                    : u == Unit::year  ? add_months(from, before ? -12 * n : 12 * n)
                                       : from;
      if (u != Unit::day && u != Unit::week && u != Unit::month && u != Unit::year) return 0;
      out = Period::days(d, d, Grain::day, "beside");
    } else if (u == Unit::week && base.grain <= Grain::day) {  // the seven days beside it
      out = before ? Period::days(from - 7, from - 1, Grain::week, "beside")
                   : Period::days(from + 1, from + 7, Grain::week, "beside");
    } else if (u == Unit::week) {
      const Day lo = before ? week_begin(base.first() - 1) : week_begin(base.last()) + 7;
      out = Period::days(lo, lo + 6, Grain::week, "beside");
    } else if (u == Unit::month) {
      const Day lo = add_months(month_begin(from), before ? -1 : 1);
      out = Period::days(lo, add_months(lo, 1) - 1, Grain::month, "beside");
    } else if (u == Unit::weekend) {
      const Day sunday = from - 1 - (weekday_of(from - 1) + 1) % 7,  // the last one before it
          saturday = before ? sunday - 1 : from + (5 - weekday_of(from) + 6) % 7 + 1;
      out = Period::days(saturday, saturday + 1, Grain::week, "beside");
    } else {
      return 0;
    }
  }
  out.absolute = absolute;
  return end;
}

// "the 2nd and 3rd of March", "March 2/3", "9/10 March", behind "the weekend of": the first of the two
size_t TimeParser::two_days(size_t i, Period& out) const {
  PartialDate date;
  int d = 0;
  if (is(i, Lex::date) && t_[i].weak && month_here(i + 1)) {
    const int first = t_[i].month < t_[i].day ? t_[i].month : t_[i].day;
    out = resolve({0, t_[i + 1].value, first});
    return i + 2;
  }
  auto joins = [&](size_t k) {
    return is(k, Word::and_) || is(k, Word::to) || dash(k) || (k < n_ && t_[k].before == '/');
  };
  auto behind = [&](size_t k) { return is(k, Word::and_) || is(k, Word::to) ? skip(k + 1, Word::the) : k; };
  if (const size_t k = day_number(skip(i, Word::the), d); k && joins(k))
    if (const size_t end = partial(behind(k), date); end && date.day && date.month) {
      date.day = d;
      out = resolve(date);
      return end;
    }
  if (const size_t k = partial(i, date); k && date.day && date.month && joins(k)) {
    const size_t end = day_number(behind(k), d);
    if (!end || is(end, Lex::unit) || is(end, Lex::month)) return 0;
    if (int y = 0; const size_t with_year = year(end, y)) {
      date.year = y;
      out = resolve(date);
      return with_year;
    }
    out = resolve(date);
    return end;
  }
  return 0;
}

// "the week of May 8th"
size_t TimeParser::week_of(size_t i, Period& out, int depth) const {
  size_t j = skip(i, Word::the);
  const bool weekend = is_unit(j, Unit::weekend);
  if (!(is_unit(j, Unit::week) || weekend)) return 0;
  size_t k = j + 1;
  if (is(k, Word::starting) || is(k, Word::begin) || is(k, Word::of))
    k += is(k + 1, Word::on) ? 2 : 1;
  else
    return 0;
  Period base;
  size_t end = two_days(k, base);
  if (!end) end = period(k, base, depth + 1);
  if (!end || base.impossible || base.grain > Grain::day) return 0;
  const Day monday = week_begin(base.first());
  const bool absolute = base.absolute;
  out = weekend ? Period::days(monday + 5, monday + 6, Grain::week, "week-of")
                : Period::days(monday, monday + 6, Grain::week, "week-of");
  out.absolute = absolute;
  return end;
}

// "the morning of May 8th", "the night before May 8th", "the morning after"
size_t TimeParser::part_of_day(size_t i, Period& out, int depth) const {
  size_t j = skip(i, Word::the);
  if (is(j, Word::early) || is(j, Word::late)) ++j;
  if (!is(j, Lex::part) || t_[j].plural) return 0;
  const int away = j == i ? 0 : is(j + 1, Word::before) ? -1 : is(j + 1, Word::after) ? 1 : 0;
  const size_t k = away || is(j + 1, Word::of) || is(j + 1, Word::on) ? j + 2 : j + 1;
  if (k == j + 1 && !weekday_here(k)) return 0;
  Period base;
  const size_t end = period(k, base, depth + 1);
  if (!end || base.impossible || base.first() != base.last() || base.grain != Grain::day) return 0;
  const bool absolute = base.absolute;
  out = day_part_period(base.first() + away, static_cast<DayPart>(t_[j].value), PartBounds::strict);
  out.absolute = absolute;
  return end;
}

// "Tuesday evening last week", "Thursday noon two weeks ago"
size_t TimeParser::part_of_named_week(size_t i, Period& out) const {
  if (!weekday_here(i) || t_[i].plural) return 0;
  size_t k = i + 1;
  if (is(k, Word::early) || is(k, Word::late)) ++k;
  if (!(is(k, Lex::part) && !t_[k].plural) && !is(k, Word::noon)) return 0;
  const size_t m = is(k + 1, Word::of) ? k + 2 : k + 1;
  Period week;
  size_t end = this_or_last_unit(m, week);
  if (!end || !is_unit(end - 1, Unit::week)) end = ago(m, week);
  if (!end || week.last() - week.first() != 6) return 0;
  const Day d = week.first() + t_[i].value;
  out = Period::days(d, d, Grain::day, kDayOfNamedWeek);
  with_part(i + 1, out);
  return end;
}

// "Saturday evening, March 2": the part of that date
size_t TimeParser::part_of_dated_day(size_t i, Period& out) const {
  if (!weekday_here(i) || t_[i].plural || !is(i + 1, Lex::part) || t_[i + 1].plural) return 0;
  PartialDate date;
  const size_t end = partial(skip(i + 2, Word::the), date);
  if (!end || !date.day) return 0;
  const Period day = resolve(date);
  if (day.impossible) return 0;
  out = day_part_period(day.first(), static_cast<DayPart>(t_[i + 1].value), PartBounds::strict);
  out.absolute = true, out.year_said = day.year_said;
  return end;
}

// "a week ago last Thursday", "a week last Thursday": seven days before that one
size_t TimeParser::weeks_before_named(size_t i, Period& out) const {
  int64_t n = 0;
  size_t k = count(i, n);
  if (!k || !is_unit(k, Unit::week) || n < 1 || n > 500) return 0;
  ++k;
  if (is(k, Word::ago)) ++k;
  if (!is(k, Word::last) && !is(k, Word::past)) return 0;
  if (!weekday_here(k + 1) || t_[k + 1].plural) return 0;
  const Day last = today_ - ((weekday_of(today_) - t_[k + 1].value + 6) % 7 + 1);
  const Day d = last - static_cast<Day>(7 * n);
  out = Period::days(d, d, Grain::day, "weeks-before");
  return k + 2;
}

// "midweek", "midweek last week": of the latest week whose middle has begun
size_t TimeParser::midweek(size_t i, Period& out) const {
  if (!said(i, "midweek")) return 0;
  Period week;
  size_t end = this_or_last_unit(is(i + 1, Word::of) ? i + 2 : i + 1, week);
  if (!end || week.last() - week.first() != 6)
    end = i + 1, week = unit_around(Unit::week, weekday_of(today_) >= 2 ? 0 : 1);
  out = Period::days(week.first() + 2, week.first() + 3, Grain::week, "part-of-period");
  return end;
}

}  // namespace quern::memory
