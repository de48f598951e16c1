#include "quern/memory/time/period_parts.h"

#include <algorithm>

namespace quern::memory {

Period days_of(const Period& base, Day lo, Day hi, Grain grain, const char* name) {
  Period out = Period::days(lo, hi, grain, name);
  out.absolute = base.absolute;
  return out;
}

Period sixths_of(const Period& base, int from, int to) {
  const Day past = base.last() + 1;
  if (base.grain == Grain::year && civil(base.first()).day == 1 && add_months(base.first(), 12) == past)
    return days_of(base, add_months(base.first(), 2 * from), add_months(base.first(), 2 * to) - 1, Grain::season);
  const int64_t days = base.last() - base.first() + 1;
  return days_of(base, base.first() + static_cast<Day>(days * from / 6),
                 base.first() + static_cast<Day>(days * to / 6) - 1);
}

Period third_of(const Period& base, Word w) {
  const bool first = w == Word::early || w == Word::begin;
  const Day lo = base.first(), hi = base.last();
  if (base.grain == Grain::month)  // to the tenth, to the twentieth, to the end
    return first            ? days_of(base, lo, lo + 9)
           : w == Word::mid ? days_of(base, lo + 10, lo + 19)
                            : days_of(base, lo + 20, hi);
  if (hi - lo > 300 && w == Word::begin)  // of a year: three months
    return days_of(base, lo, add_months(lo, 3) - 1, Grain::season);
  if (hi - lo > 300 && w == Word::end) return days_of(base, add_months(hi + 1, -3), hi, Grain::season);
  return first ? sixths_of(base, 0, 2) : w == Word::mid ? sixths_of(base, 2, 4) : sixths_of(base, 4, 6);
}

std::optional<Period> units_of(const Period& base, Unit u, Counted c) {
  const Day lo = base.first(), hi = base.last();
  const int64_t v = c.v, n = c.n;
  auto span = [&](Day from, Day to) { return days_of(base, std::max(from, lo), std::min(to, hi)); };
  switch (u) {
    case Unit::day:
      return c.from_end ? span(hi - static_cast<Day>(v - 1 + n - 1), hi - static_cast<Day>(v - 1))
                        : span(lo + static_cast<Day>(v - 1), lo + static_cast<Day>(v - 1 + n - 1));
    case Unit::week:  // weeks of a month: its days 1–7, 8–14 …
      return c.from_end ? span(hi - static_cast<Day>(7 * (v - 1 + n)) + 1, hi - static_cast<Day>(7 * (v - 1)))
                        : span(lo + static_cast<Day>(7 * (v - 1)), lo + static_cast<Day>(7 * (v - 1 + n)) - 1);
    case Unit::weekend: {
      if (c.from_end) {
        const Day sunday = hi - (weekday_of(hi) + 1) % 7, saturday = (weekday_of(hi) == 5 ? hi : sunday - 1);
        return span(saturday - static_cast<Day>(7 * (v - 1)), saturday + 1 - static_cast<Day>(7 * (v - 1)));
      }
      const Day saturday = lo + (5 - weekday_of(lo) + 7) % 7;
      return span(saturday + static_cast<Day>(7 * (v - 1)), saturday + 1 + static_cast<Day>(7 * (v - 1 + n - 1)));
    }
    case Unit::month:
      if (base.grain != Grain::year) return std::nullopt;
      return c.from_end
                 ? span(add_months(month_begin(hi), -(v - 1 + n - 1)), add_months(month_begin(hi), -(v - 1) + 1) - 1)
                 : span(add_months(lo, v - 1), add_months(lo, v - 1 + n) - 1);
    case Unit::quarter: {
      if (base.grain != Grain::year) return std::nullopt;
      Period out = c.from_end ? span(add_months(hi + 1, -3 * (v - 1 + n)), add_months(hi + 1, -3 * (v - 1)) - 1)
                              : span(add_months(lo, 3 * (v - 1)), add_months(lo, 3 * (v - 1 + n)) - 1);
      out.grain = Grain::season;
      return out;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace quern::memory
