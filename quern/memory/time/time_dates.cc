// Calendar dates: "May 8th", "the 8th of May, 2023", 2023-05-08, months, seasons, holidays, years. Missing parts of a
// date are filled in so that it lies in the past and as near to now as possible: a memory holds no future.
#include "quern/memory/time/time_parser.h"

namespace quern::memory {

size_t TimeParser::year(size_t i, int& y) const {
  if (is(i, Lex::year)) {
    y = t_[i].value;
    return i + 1;
  }
  if (is(i, Lex::number) && t_[i].digits && t_[i].end - t_[i].begin == 4 && t_[i].value >= 1900 &&
      t_[i].value <= 2199) {
    y = t_[i].value;
    return i + 1;
  }
  size_t j = i;
  if (is(j, Word::of) || is(j, Word::in)) ++j;
  if (j > i)
    if (const size_t end = year(j, y)) return end;
  int64_t back;
  if (const size_t c = count(i, back); c && is_unit(c, Unit::year) && is(c + 1, Word::ago) && back < 1000) {
    y = civil(today_).year - static_cast<int>(back);  // in May two years ago
    return c + 2;
  }
  if (is(j, Word::last) || is(j, Word::previous))
    back = 1;
  else if (is(j, Word::this_) || is(j, Word::current))
    back = 0;
  else if (is(j, Word::the) && (is(j + 1, Word::previous) || is(j + 1, Word::current)))
    back = is(++j, Word::previous) ? 1 : 0;
  else
    return 0;
  if (!is_unit(j + 1, Unit::year)) return 0;
  y = civil(today_).year - static_cast<int>(back);
  return j + 2;
}

size_t TimeParser::day_number(size_t i, int& d) const {
  int64_t v;
  size_t j = ordinal(i, v);
  if (!j && is(i, Lex::number) && t_[i].digits && t_[i].end - t_[i].begin <= 2) v = t_[i].value, j = i + 1;
  if (!j || v < 1 || v > 99) return 0;
  d = static_cast<int>(v);
  return j;
}

size_t TimeParser::partial(size_t i, PartialDate& p) const {
  p = {};
  if (is(i, Lex::date)) {
    if (t_[i].weak && (i == 0 || !(preposition(i - 1) || is(i - 1, Word::and_) || is(i - 1, Word::the)))) return 0;
    p = {t_[i].year, t_[i].month, t_[i].day};
    return i + 1;
  }
  if (weekday_here(i)) {  // "Monday, May 8th": the weekday says nothing more
    size_t j = skip(i + 1, Word::the);
    PartialDate q;
    if (j < n_ && !is(j, Lex::weekday))
      if (const size_t end = partial(j, q); end && q.day) {
        p = q;
        return end;
      }
    return 0;
  }
  size_t j = i;
  if (month_here(j)) {
    p.month = t_[j].value;
    size_t k = skip(j + 1, Word::the);
    int d;
    const size_t end = day_number(k, d);
    if (end && !is(end, Lex::unit) && !(is(end, Lex::session) && t_[end].plural)) {
      p.day = d;
      if (const size_t with_year = year(end, p.year)) return with_year;
      return end;
    }
    if (const size_t with_year = year(j + 1, p.year)) return with_year;
    return j + 1;
  }
  j = skip(j, Word::the);
  int d;
  const size_t after_day = day_number(j, d);
  if (!after_day) return 0;
  const bool ordinal_day = is(after_day - 1, Lex::ordinal);
  size_t k = after_day;
  if (ordinal_day && is(k, Word::day)) ++k;
  const bool of = is(k, Word::of);
  k = skip(k, Word::of);
  if (of && (is(k, Word::last) || is(k, Word::this_)) && is(k + 1, Lex::month) &&
      d <= 31) {  // the 25th of last December
    const Civil now = civil(today_);
    p.day = d, p.month = t_[k + 1].value;
    p.year = is(k, Word::last) && p.month >= now.month ? now.year - 1 : now.year;
    return k + 2;
  }
  if ((!of && k != after_day) || !month_here(k)) return 0;
  p.day = d, p.month = t_[k].value;
  if (const size_t with_year = year(k + 1, p.year)) return with_year;
  return k + 1;
}

Period TimeParser::resolve(const PartialDate& p) const {
  Period out;
  out.absolute = true;
  const int this_year = civil(today_).year;
  auto on = [&](int y) {
    Period q = Period::days(day_of(y, p.month, p.day), day_of(y, p.month, p.day), Grain::day, "date");
    q.absolute = true, q.year_said = p.year != 0;
    return q;
  };
  if (p.month == 0) return out;
  out.year_said = p.year != 0;
  if (p.month > 12 || p.day > 31) {
    out.impossible = true;
    return out;
  }
  if (p.day == 0) {
    int y = p.year ? p.year : this_year;
    if (!p.year && day_of(y, p.month, 1) > today_) --y;
    out = Period::days(day_of(y, p.month, 1), day_of(y, p.month, month_length(y, p.month)), Grain::month, "month");
    out.absolute = true, out.year_said = p.year != 0;
    return out;
  }
  if (p.year) {
    if (date_exists(p.year, p.month, p.day)) return on(p.year);
  } else {
    for (int y = this_year; y > this_year - 9; --y)  // 29 February may be eight years back
      if (date_exists(y, p.month, p.day) && day_of(y, p.month, p.day) <= today_) return on(y);
  }
  out.impossible = true;
  return out;
}

size_t TimeParser::calendar_date(size_t i, Period& out) const {
  PartialDate p;
  size_t end = partial(i, p);
  if (!end) return 0;
  out = resolve(p);
  return end;
}

// "on the 8th": needs its article and nothing behind it that it could count.
size_t TimeParser::day_of_month(size_t i, Period& out) const {
  if (!is(i, Word::the)) return 0;
  int d;
  size_t j = day_number(i + 1, d);
  const bool of_month = j && is(j, Word::of) && (is_unit(j + 2, Unit::month) || is_unit(j + 3, Unit::month));
  if (!of_month && !excepting_ && (i == 0 || !preposition(i - 1))) return 0;
  if (!j || !is(j - 1, Lex::ordinal) || d > 31) return 0;
  if (is(j, Word::of) && (is(j + 1, Word::this_) || is(j + 1, Word::last) || is(j + 1, Word::the))) {
    size_t k = j + 2;
    if (is(j + 1, Word::the)) k = j + 2;
    const bool previous = is(j + 1, Word::last) || is(k, Word::previous) || is(k, Word::last);
    if (is(k, Word::previous) || is(k, Word::current) || is(k, Word::last)) ++k;
    if (!is_unit(k, Unit::month)) return 0;
    const Day month = add_months(month_begin(today_), previous ? -1 : 0);
    const Civil c = civil(month);
    if (d > month_length(c.year, c.month)) {
      out.impossible = out.absolute = true;
      return k + 1;
    }
    out = Period::days(month + d - 1, month + d - 1, Grain::day, "day-of-month");
    return k + 1;
  }
  const bool joins = is(j, Word::and_) || is(j, Word::to) || is(j, Word::through) || is(j, Word::until) ||
                     is(j, Word::or_) || dash(j);
  const size_t other = dash(j) ? j : j + 1;
  const bool counts_nothing =
      sentence_end(j) || is(j, Word::we) || is(j, Word::talk) || is(j, Word::mention) || said(j, "did") ||
      said(j, "was") ||
      (joins && (is(other, Word::the) || is(other, Lex::ordinal) || is(other, Lex::number) || is(other, Lex::month)));
  if (!counts_nothing) return 0;
  Day month = month_begin(today_);
  for (int back = 0; back < 12; ++back, month = add_months(month, -1)) {
    const Civil c = civil(month);
    if (d <= month_length(c.year, c.month) && month + d - 1 <= today_) {
      out = Period::days(month + d - 1, month + d - 1, Grain::day, "day-of-month");
      return j;
    }
  }
  return 0;
}

std::optional<Day> TimeParser::holiday_in(Holiday h, int y) const {
  auto nth = [&](int month, int weekday, int n) {
    const Day first = day_of(y, month, 1);
    return first + (weekday - weekday_of(first) + 7) % 7 + 7 * (n - 1);
  };
  auto last = [&](int month, int weekday) {
    const Day end = day_of(y, month, month_length(y, month));
    return end - (weekday_of(end) - weekday + 7) % 7;
  };
  switch (h) {
    case Holiday::new_year:
      return day_of(y, 1, 1);
    case Holiday::new_years_eve:
      return day_of(y, 12, 31);
    case Holiday::valentine:
      return day_of(y, 2, 14);
    case Holiday::patrick:
      return day_of(y, 3, 17);
    case Holiday::easter:
      return easter(y);
    case Holiday::mothers_day:
      return nth(5, 6, 2);
    case Holiday::memorial_day:
      return last(5, 0);
    case Holiday::fathers_day:
      return nth(6, 6, 3);
    case Holiday::independence:
      return day_of(y, 7, 4);
    case Holiday::labor_day:
      return nth(9, 0, 1);
    case Holiday::halloween:
      return day_of(y, 10, 31);
    case Holiday::thanksgiving:
      return nth(11, 3, 4);
    case Holiday::black_friday:
      return nth(11, 3, 4) + 1;
    case Holiday::christmas_eve:
      return day_of(y, 12, 24);
    case Holiday::christmas:
      return day_of(y, 12, 25);
    case Holiday::boxing_day:
      return day_of(y, 12, 26);
    case Holiday::april_fools:
      return day_of(y, 4, 1);
    case Holiday::epiphany:
      return day_of(y, 1, 6);
    case Holiday::may_day:
      return day_of(y, 5, 1);
    case Holiday::good_friday:
      return easter(y) - 2;
    case Holiday::easter_monday:
      return easter(y) + 1;
    case Holiday::all_saints:
      return day_of(y, 11, 1);
    case Holiday::st_nicholas:
      return day_of(y, 12, 6);
    case Holiday::midsummer:
      return day_of(y, 6, 24);
    case Holiday::bastille:
      return day_of(y, 7, 14);
    case Holiday::unity_day:
      return day_of(y, 10, 3);
  }
  return std::nullopt;
}

// A holiday counts as a date only behind a preposition of time: "about Christmas" is a topic.
size_t TimeParser::holiday(size_t i, Period& out) const {
  if (i >= n_) return 0;
  const bool last = is(i, Word::last), here = is(i, Word::this_);
  size_t j = last || here ? i + 1 : i;
  const bool range = i > 2 && (is(i - 1, Word::and_) || is(i - 1, Word::or_)) &&
                     (is(i - 2, Lex::holiday) || is(i - 2, Word::day) || is(i - 3, Word::between));
  const bool articled = i > 1 && is(i - 1, Word::the) && preposition(i - 2) && !said(i - 2, "about");
  const bool led = range || articled || (i > 0 && preposition(i - 1) && !said(i - 1, "about"));
  const bool bare = j == i && !led;
  if (is(j, Lex::day_word) || j >= n_) return 0;
  Holiday h;
  auto begins = [&](size_t k, std::string_view what) { return k < n_ && w_.spelling(k).starts_with(what); };
  auto eve = [&](size_t k) { return said(k, "eve") || said(k, "eve's"); };
  if (is(j, Lex::holiday)) {
    h = static_cast<Holiday>(t_[j++].value);
    if (h == Holiday::christmas && eve(j)) h = Holiday::christmas_eve, ++j;
    if (is(j, Word::day) || is_unit(j, Unit::day)) ++j;
    if (h == Holiday::easter && is(j, Lex::weekday) && t_[j].value == 6) ++j;
    if (h == Holiday::easter && is(j, Lex::weekday) && t_[j].value == 0) h = Holiday::easter_monday, ++j;
  } else if (begins(j, "new") && is(j + 1, Word::year)) {
    j += 2;
    h = eve(j) ? Holiday::new_years_eve : Holiday::new_year;
    if (eve(j) || is(j, Word::day)) ++j;
  } else if ((begins(j, "mother") || begins(j, "father")) && is(j + 1, Word::day)) {
    h = begins(j, "mother") ? Holiday::mothers_day : Holiday::fathers_day, j += 2;
  } else if ((begins(j, "memorial") || begins(j, "independence") || begins(j, "boxing") || begins(j, "labor") ||
              begins(j, "labour")) &&
             is(j + 1, Word::day)) {
    h = begins(j, "memorial")       ? Holiday::memorial_day
        : begins(j, "independence") ? Holiday::independence
        : begins(j, "boxing")       ? Holiday::boxing_day
                                    : Holiday::labor_day;
    j += 2;
  } else if (begins(j, "black") && is(j + 1, Lex::weekday) && t_[j + 1].value == 4) {
    h = Holiday::black_friday, j += 2;
  } else if ((begins(j, "st") || begins(j, "saint")) && begins(j + 1, "patrick")) {
    h = Holiday::patrick, j += is(j + 2, Word::day) ? 3 : 2;
  } else if (is(j, Lex::month) && t_[j].value == 4 && begins(j + 1, "fool")) {
    h = Holiday::april_fools, j += is(j + 2, Word::day) ? 3 : 2;
  } else if (said(j, "epiphany") || (said(j, "three") && begins(j + 1, "king"))) {
    h = Holiday::epiphany, j += said(j, "epiphany") ? 1 : 2;
    if (is(j, Word::day)) ++j;
  } else if (begins(j, "may") && is(j + 1, Word::day)) {
    h = Holiday::may_day, j += 2;
  } else if (said(j, "good") && is(j + 1, Lex::weekday) && t_[j + 1].value == 4) {
    h = Holiday::good_friday, j += 2;
  } else if (begins(j, "all") && (begins(j + 1, "saint") || begins(j + 1, "hallow"))) {
    h = Holiday::all_saints, j += is(j + 2, Word::day) ? 3 : 2;
  } else if ((begins(j, "st") || begins(j, "saint")) && begins(j + 1, "nicholas")) {
    h = Holiday::st_nicholas, j += is(j + 2, Word::day) ? 3 : 2;
  } else if (begins(j, "midsummer") || (begins(j, "st") && begins(j + 1, "john"))) {
    h = Holiday::midsummer, j += begins(j, "midsummer") ? 1 : 2;
    if (is(j, Word::day)) ++j;
  } else if (begins(j, "bastille") && is(j + 1, Word::day)) {
    h = Holiday::bastille, j += 2;
  } else if (said(j, "unity") && is(j + 1, Word::day)) {
    h = Holiday::unity_day, j += 2;
  } else {
    return 0;
  }
  // With nothing before it a holiday may be what was talked about: not in "Boxing Day's chat", nor as a heading.
  const bool chat = is(j, Lex::session) && t_[j].value == 0;
  const bool apart = j < n_ && t_[j].before == '-' && t_[j].begin > t_[j - 1].end + 1;  // not in Halloween-themed
  const bool alone = i == 0 && j >= n_;                                                 // "New Year's?"
  const bool heading = alone || (i == 0 && j < n_ && (t_[j].before == ':' || apart));
  if (bare && !chat && !heading) return 0;
  int y = 0;
  if (const size_t with_year = year(j, y)) {
    j = with_year;
  } else {
    y = civil(today_).year;
    if (*holiday_in(h, y) > today_ || (last && *holiday_in(h, y) >= today_)) --y;
    if (here) y = civil(today_).year;
  }
  if (y < 1583 || y > 4099) return 0;
  out = Period::days(*holiday_in(h, y), *holiday_in(h, y), Grain::day, "holiday");
  if (is_unit(j, Unit::weekend)) {
    const Day saturday = week_begin(out.first()) + 5;
    out = Period::days(saturday, saturday + 1, Grain::week, "holiday"), ++j;
  }
  out.absolute = true;
  return j;
}

Period TimeParser::season_in(int s, int y) const {  // of three months; a winter is named by the year it begins in
  const Day lo = day_of(y, 3 + 3 * s, 1);
  return Period::days(lo, add_months(lo, 3) - 1, Grain::season, "season");
}

size_t TimeParser::season(size_t i, Period& out) const {
  size_t j = skip(i, Word::the);
  const bool last = is(j, Word::last) || is(j, Word::past) || is(j, Word::previous), here = is(j, Word::this_);
  if (last || here) ++j;
  if (here && is(j, Word::past)) ++j;
  int with = 0;
  const bool dated = is(j, Lex::season) && year(j + 1, with) != 0 && !t_[j].plural;
  if (!is(j, Lex::season) || (j == i && !dated && (i == 0 || !preposition(i - 1)))) return 0;
  if (j == i + 1 && is(i, Word::the) && (i == 0 || !preposition(i - 1))) return 0;
  const int s = t_[j].value;
  int y = 0;
  if (const size_t with_year = year(j + 1, y)) {
    if (y < 1 || y > 9000) return 0;
    out = season_in(s, y);
    out.absolute = true;
    return with_year;
  }
  y = civil(today_).year;
  out = season_in(s, y);
  while (last ? out.last() >= today_ : out.first() > today_) out = season_in(s, --y);
  return j + 1;
}

size_t TimeParser::quarter(size_t i, Period& out) const {
  int64_t q = 0;
  size_t j = 0;
  if (is(i, Lex::quarter)) {
    q = t_[i].value, j = i + 1;
  } else {
    size_t k = skip(i, Word::the);
    if (is(k, Word::last))
      q = 4, k += 1;
    else
      k = ordinal(k, q);
    if (!k || q > 4 || !is_unit(k, Unit::quarter)) return 0;
    int y;
    if (is(i + 1, Word::last) && !year(k + 1, y)) return 0;  // "the last quarter" is counted from now
    j = k + 1;
  }
  int y = 0;
  const size_t with_year = year(j, y);
  if (!with_year) {
    y = civil(today_).year;
    if (day_of(y, static_cast<int>(q) * 3 - 2, 1) > today_) --y;
  }
  const Day lo = day_of(y, static_cast<int>(q) * 3 - 2, 1);
  out = Period::days(lo, add_months(lo, 3) - 1, Grain::season, "quarter");
  out.absolute = true;
  return with_year ? with_year : j;
}

size_t TimeParser::plain_year(size_t i, Period& out) const {
  size_t j = i;
  bool said_year = false;
  if (is(j, Word::the)) ++j;
  if (is_unit(j, Unit::year)) ++j, said_year = true;
  if (!said_year && (j != i || i == 0)) return 0;
  const bool led = i > 0 && (preposition(i - 1) || is(i - 1, Word::and_));
  // "Recap 2024": a year of late, alone at the end of its clause
  const bool late = is(j, Lex::number) && t_[j].value <= civil(today_).year &&
                    t_[j].value > civil(today_).year - 30 && (sentence_end(j + 1) || said(j + 1, "for"));
  if (!said_year && !led && !late) return 0;
  if (!(is(j, Lex::year) || is(j, Lex::number))) return 0;
  int y = 0;
  const size_t end = year(j, y);
  if (!end || is(end, Lex::unit) || is(end, Lex::session)) return 0;
  out = Period::days(day_of(y, 1, 1), day_of(y, 12, 31), Grain::year, "year");
  out.absolute = out.bare_year = true;
  return end;
}

size_t TimeParser::numbered_week(size_t i, Period& out) const {
  if (!is_unit(i, Unit::week) || !is(i + 1, Lex::number) || !t_[i + 1].digits) return 0;
  const int n = t_[i + 1].value;
  if (n < 1 || n > 53) return 0;
  int y = 0;
  size_t end = year(i + 2, y);
  const Civil now = civil(today_);
  auto first_monday = [](int of) { return week_begin(day_of(of, 1, 4)); };
  if (!end) {
    y = now.year, end = i + 2;
    if (first_monday(y) + 7 * (n - 1) > today_) --y;
  }
  const Day lo = first_monday(y) + 7 * (n - 1);
  out = Period::days(lo, lo + 6, Grain::week, "week-number");
  out.absolute = true;
  return end;
}

}  // namespace quern::memory
