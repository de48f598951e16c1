// Periods relative to other periods: "early June", "the first week of July", "the week of May 8th", "two days before
// yesterday", "the Friday after Easter", "the morning of May 8th".
#include <algorithm>

#include "quern/memory/time/time_parser.h"

namespace quern::memory {

// "early May", "mid-June", "the end of last month", "the first half of July", "the second week of May", "the last
// weekend of June", "the first Monday of June", "the first ten days of May"
size_t TimeParser::part_of_period(size_t i, Period& out, int depth) const {
  size_t j = skip(i, Word::the);
  if (is(j, Word::very)) ++j;
  if (j >= n_) return 0;
  Period base;
  auto within = [&](size_t k) -> size_t {  // of | in PERIOD
    if (is(k, Word::of) || is(k, Word::in))
      ++k;
    else if (k > 0 && t_[k - 1].word != Word::early && t_[k - 1].word != Word::late && t_[k - 1].word != Word::mid)
      return 0;
    const size_t end = period(k, base, depth + 1);
    return end && base.last() - base.first() >= 6 && !base.impossible ? end : 0;
  };
  const Word w = t_[j].word;
  auto cut = [&](int num_lo, int num_hi) {  // thirds or halves, in sixths
    const int64_t days = base.last() - base.first() + 1;
    const Day lo = base.first() + static_cast<Day>(days * num_lo / 6),
              hi = base.first() + static_cast<Day>(days * num_hi / 6) - 1;
    const bool absolute = base.absolute;
    out = Period::days(lo, hi, Grain::week, "part-of-period");
    out.absolute = absolute;
  };
  if (w == Word::early || w == Word::begin || w == Word::mid || w == Word::late || w == Word::end) {
    const bool needs_of = w == Word::begin || w == Word::end || said(j, "middle");
    if (needs_of && !is(j + 1, Word::of)) return 0;
    size_t k = j + 1;
    if (is(k, Word::on) && is(k + 1, Word::in)) ++k;
    const size_t end = within(k);
    if (!end) return 0;
    if (base.grain == Grain::month) {  // to the tenth, to the twentieth, to the end
      const Day lo = base.first();
      const bool absolute = base.absolute;
      out = w == Word::early || w == Word::begin ? Period::days(lo, lo + 9, Grain::week, "part-of-period")
            : w == Word::mid                     ? Period::days(lo + 10, lo + 19, Grain::week, "part-of-period")
                                                 : Period::days(lo + 20, base.last(), Grain::week, "part-of-period");
      out.absolute = absolute;
    } else {
      const bool year = base.last() - base.first() > 300 && (w == Word::begin || w == Word::end);
      if (year) {  // of a year: three months
        const Day lo = base.first(), hi = base.last();
        const bool absolute = base.absolute;
        out = w == Word::begin ? Period::days(lo, add_months(lo, 3) - 1, Grain::season, "part-of-period")
                               : Period::days(add_months(hi + 1, -3), hi, Grain::season, "part-of-period");
        out.absolute = absolute;
      } else {
        w == Word::early || w == Word::begin ? cut(0, 2) : w == Word::mid ? cut(2, 4) : cut(4, 6);
      }
    }
    return end;
  }
  // first half of, second half of
  int64_t v = 0;
  bool from_end = false;
  size_t k = 0;
  if (is(j, Word::last))
    k = j + 1, v = 1, from_end = true;
  else if (is(j, Word::penultimate))
    k = j + 1, v = 2, from_end = true;
  else
    k = ordinal(j, v);
  if (!k || v < 1 || v > 400) return 0;
  if (is(k, Word::half)) {
    const size_t end = within(k + 1);
    if (!end || v > 2) return 0;
    v == 1 && !from_end ? cut(0, 3) : cut(3, 6);
    return end;
  }
  int64_t how_many = 1;
  if (const size_t c = count(k, how_many); c && !is(k, Word::a)) k = c;
  if (how_many > 1 && v != 1) return 0;
  if (is(k, Lex::weekday) && !t_[k].plural) {
    const int wd = t_[k].value;
    const size_t end = within(k + 1);
    if (!end) return 0;
    const Day d = from_end ? base.last() - (weekday_of(base.last()) - wd + 7) % 7 - static_cast<Day>(7 * (v - 1))
                           : base.first() + (wd - weekday_of(base.first()) + 7) % 7 + static_cast<Day>(7 * (v - 1));
    if (d < base.first() || d > base.last()) return 0;
    const bool absolute = base.absolute;
    out = Period::days(d, d, Grain::day, "weekday-of-period");
    out.absolute = absolute;
    return end;
  }
  if (!is(k, Lex::unit) || t_[k].value < static_cast<int32_t>(Unit::day)) return 0;
  const Unit u = static_cast<Unit>(t_[k].value);
  const size_t end = within(k + 1);
  if (!end) return 0;
  const bool absolute = base.absolute;
  const int64_t n = how_many;
  auto span = [&](Day lo, Day hi) {
    out = Period::days(std::max(lo, base.first()), std::min(hi, base.last()), Grain::week, "part-of-period");
    out.absolute = absolute;
  };
  const Day lo = base.first(), hi = base.last();
  switch (u) {
    case Unit::day:
      from_end ? span(hi - static_cast<Day>(v - 1 + n - 1), hi - static_cast<Day>(v - 1))
               : span(lo + static_cast<Day>(v - 1), lo + static_cast<Day>(v - 1 + n - 1));
      break;
    case Unit::week:  // weeks of a month: its days 1–7, 8–14 …
      from_end ? span(hi - static_cast<Day>(7 * (v - 1 + n)) + 1, hi - static_cast<Day>(7 * (v - 1)))
               : span(lo + static_cast<Day>(7 * (v - 1)), lo + static_cast<Day>(7 * (v - 1 + n)) - 1);
      break;
    case Unit::weekend: {
      if (from_end) {
        const Day sunday = hi - (weekday_of(hi) + 1) % 7, saturday = (weekday_of(hi) == 5 ? hi : sunday - 1);
        span(saturday - static_cast<Day>(7 * (v - 1)), saturday + 1 - static_cast<Day>(7 * (v - 1)));
      } else {
        const Day saturday = lo + (5 - weekday_of(lo) + 7) % 7;
        span(saturday + static_cast<Day>(7 * (v - 1)), saturday + 1 + static_cast<Day>(7 * (v - 1 + n - 1)));
      }
      break;
    }
    case Unit::month:
      if (base.grain != Grain::year) return 0;
      from_end ? span(add_months(month_begin(hi), -(v - 1 + n - 1)), add_months(month_begin(hi), -(v - 1) + 1) - 1)
               : span(add_months(lo, v - 1), add_months(lo, v - 1 + n) - 1);
      break;
    default:
      return 0;
  }
  if (out.first() > out.last()) return 0;
  return end;
}

// "the day after May 8th", "two days before yesterday", "the Friday before June 9th", "a week after Easter"
size_t TimeParser::beside_period(size_t i, Period& out, int depth) const {
  size_t j = skip(i, Word::the);
  int64_t v = 1;
  bool counted = false, some = false;
  if (const size_t k = count(j, v)) some = counted = true, j = k;
  if (j >= n_ || !(is(j, Lex::unit) || (weekday_here(j) && !t_[j].plural && !some))) return 0;
  if (!some && j == i) return 0;
  if (is(j, Lex::unit) && (t_[j].value < static_cast<int32_t>(Unit::day))) return 0;
  const Unit u = is(j, Lex::unit) ? static_cast<Unit>(t_[j].value) : Unit::day;
  const bool named = is(j, Lex::weekday);
  size_t k = j + 1;
  if (is(k, Word::exactly)) ++k;
  bool before, leading = false;
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
  const bool absolute = base.absolute;
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
      const Day saturday = before ? week_begin(from - 1) - 2 : week_begin(from) + 5;
      out = Period::days(saturday, saturday + 1, Grain::week, "beside");
    } else {
      return 0;
    }
  }
  out.absolute = absolute;
  return end;
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
  const size_t end = period(k, base, depth + 1);
  if (!end || base.impossible || base.grain > Grain::day) return 0;
  const Day monday = week_begin(base.first());
  const bool absolute = base.absolute;
  out = weekend ? Period::days(monday + 5, monday + 6, Grain::week, "week-of")
                : Period::days(monday, monday + 6, Grain::week, "week-of");
  out.absolute = absolute;
  return end;
}

// "the morning of May 8th"
size_t TimeParser::part_of_day(size_t i, Period& out, int depth) const {
  size_t j = skip(i, Word::the);
  if (is(j, Word::early) || is(j, Word::late)) ++j;
  if (!is(j, Lex::part) || t_[j].plural) return 0;
  const size_t k = is(j + 1, Word::of) || is(j + 1, Word::on) ? j + 2 : j + 1;
  if (k == j + 1 && !weekday_here(k)) return 0;
  Period base;
  const size_t end = period(k, base, depth + 1);
  if (!end || base.impossible || base.first() != base.last() || base.grain != Grain::day) return 0;
  const bool absolute = base.absolute;
  out = day_part_period(base.first(), static_cast<DayPart>(t_[j].value), false);
  out.absolute = absolute;
  return end;
}

}  // namespace quern::memory
