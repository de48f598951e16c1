// Calendar dates: "May 8th", "the 8th of May, 2023", 2023-05-08, months, seasons, holidays, years. Missing parts of a
// date are filled in so that it lies in the past and as near to now as possible: a memory holds no future.
#include "quern/memory/time/time_parser.h"

namespace quern::memory {

size_t TimeParser::year(size_t i, int& y) const {
  if (is(i, Lex::year)) {
    y = other_year_ ? other_year_ : t_[i].value;
    return i + 1;
  }
  if (is(i, Lex::number) && t_[i].digits && t_[i].end - t_[i].begin == 4 && t_[i].value >= 1900 &&
      t_[i].value <= 2199) {
    y = other_year_ ? other_year_ : t_[i].value;
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
    const bool led = i > 0 && (preposition(i - 1) || is(i - 1, Word::and_) || is(i - 1, Word::the));
    const bool no_fraction =
        t_[i].day > 12 || i == 0 || is(i - 1, Word::up) || said(i - 1, "show") || said(i - 1, "open");
    if (t_[i].weak && !led && !no_fraction) return 0;
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
    if (w_.spelling(j).ends_with("'s")) return j + 1;  // "February's second session"
    size_t k = skip(j + 1, Word::the);
    int d;
    size_t end = day_number(k, d);
    if (end && k > j + 1 && t_[j + 1].before == ',' && excepted_behind(end))
      end = 0;  // "February, the 14th excluded"
    if (end && !is(end, Lex::unit) && !(is(end, Lex::session) && t_[end].plural)) {
      p.day = d;
      if (const size_t with_year = year(end, p.year)) return with_year;
      return end;
    }
    if (const size_t with_year = year(j + 1, p.year)) return with_year;
    return j + 1;
  }
  const bool article = is(j, Word::the) || (j > 0 && is(j - 1, Word::on));
  j = skip(j, Word::the);
  int d = 0;
  size_t after_day = day_number(j, d);
  if (int64_t v = 0; !after_day && article)  // the six of March
    if (const size_t end = number(j, v); end && v >= 1 && v <= 31 && (is(end, Lex::month) || is(end, Word::of)))
      after_day = end, d = static_cast<int>(v);
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
  const bool alone = j && t_[j - 1].digits && sentence_end(j) && !said(i - 1, "about");  // "remember the 30th?"
  const bool gone = j && excepted_behind(j);
  if (!of_month && !excepting_ && !alone && !gone && (i == 0 || !preposition(i - 1))) return 0;
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
      sentence_end(j) || gone || is(j, Word::we) || is(j, Word::up) || said(j, "then") || said(j, "please") ||
      is(j, Word::at) || said(j, "what") || said(j, "who") || is(j, Word::talk) || is(j, Word::mention) ||
      said(j, "did") || said(j, "was") ||
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
  const bool dated = is(j, Lex::season) && year(j + 1, with) != 0;
  if (!is(j, Lex::season) || (j == i && !dated && !excepting_ && (i == 0 || !preposition(i - 1)))) return 0;
  if (j == i + 1 && is(i, Word::the) && !excepting_ && (i == 0 || !preposition(i - 1))) return 0;
  const int s = t_[j].value;
  int y = 0;
  if (const size_t with_year = year(j + 1, y)) {
    if (y < 1 || y > 9000) return 0;
    out = season_in(s, y);
    out.absolute = true;
    return with_year;
  }
  if (t_[j].plural) return 0;  // "summers" without a year
  y = civil(today_).year;
  out = season_in(s, y);
  while (last ? out.last() >= today_ : out.first() > today_) out = season_in(s, --y);
  return j + 1;
}

size_t TimeParser::quarter(size_t i, Period& out) const {
  int64_t q = 0;
  size_t j = 0;
  int of = 0;
  if (said(i, "h1") || said(i, "h2"))  // the halves of a year
    if (const size_t end = year(i + 1, of)) {
      const Day lo = day_of(of, said(i, "h1") ? 1 : 7, 1);
      out = Period::days(lo, add_months(lo, 6) - 1, Grain::season, "half-year");
      out.absolute = true;
      return end;
    }
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

// Days of one month: "the 1st and 2nd of March", "March 2nd, 3rd and 5th".
size_t TimeParser::date_list(size_t i, TimeConstraint& out) const {
  size_t j = i;
  if (is(j, Word::on) || is(j, Word::in)) ++j;
  std::vector<int> days;
  PartialDate p;
  int d = 0;
  auto next = [&](size_t k) -> size_t {  // behind "and", "or" or a comma
    const bool comma = k < n_ && t_[k].before == ',';
    if (!comma && !is(k, Word::and_) && !is(k, Word::or_)) return 0;
    if (is(k, Word::and_) || is(k, Word::or_)) ++k;
    if (is(k, Word::on)) ++k;
    return skip(k, Word::the);
  };
  size_t end = 0;
  if (month_here(j)) {
    end = partial(j, p);
    if (!end || !p.day || p.year) return 0;
    days.push_back(p.day);
    for (size_t k = next(end); k; k = next(end)) {
      const size_t more = day_number(k, d);
      const bool bare = more && !is(more - 1, Lex::ordinal);  // "March 5, 7 and 9"
      if (!more || (bare && !sentence_end(more) && !is(more, Word::and_) && !is(more, Word::or_)) ||
          is(more, Word::of) || is(more, Lex::month) || is(more, Lex::session) || is(more, Lex::unit))
        break;
      days.push_back(d), end = more;
    }
    if (const size_t with_year = year(end, p.year)) end = with_year;  // "March 5, 7 and 9, 2022"
  } else {
    size_t k = skip(j, Word::the);
    for (size_t m = day_number(k, d); m && days.size() < kLongestList; m = day_number(k, d)) {
      if (is(m, Word::of) || is(m, Lex::month)) {
        end = partial(k, p);
        break;
      }
      days.push_back(d);
      k = next(m);
      if (!k) return 0;
    }
    if (!end || !p.day) return 0;
    days.push_back(p.day);
  }
  if (days.size() < 2) return 0;
  out.axis = Axis::date, out.grain = Grain::day, out.absolute = true, out.name = "date-list";
  for (const int day : days) {
    const Period one = resolve({p.year, p.month, day});
    if (one.impossible) return 0;
    out.ranges.push_back({one.lo, one.hi});
  }
  return end;
}

}  // namespace quern::memory
