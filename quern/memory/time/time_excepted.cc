// Exceptions by their place among what recurs: "on all Sundays in May except the first", "every weekend in June but the last
// two".
#include <algorithm>

#include "quern/memory/time/period_parts.h"

namespace quern::memory {

// What the words in front count in a frame: "all Sundays in May", "every weekend of June", "all weeks of May".
std::vector<TimeRange> TimeParser::counted_in_frame(size_t before, const TimeConstraint& frame) const {
  std::vector<TimeRange> out;
  const Period base{.lo = frame.ranges[0].lo, .hi = frame.ranges[0].hi, .grain = frame.grain};
  for (size_t k = before; k > 0 && before - k < 12;) {
    --k;
    if (is(k, Lex::session)) return {};
    const bool all = t_[k].plural || (k > 0 && is(k - 1, Word::every));
    if (!all || !(is(k, Lex::weekday) || is(k, Lex::unit))) continue;
    for (int64_t v = 1; v <= 400; ++v) {
      std::optional<Period> one;
      if (is(k, Lex::unit)) {
        one = units_of(base, static_cast<Unit>(t_[k].value), {.v = v});
      } else {
        const Day d = base.first() + (t_[k].value - weekday_of(base.first()) + 7) % 7 + static_cast<Day>(7 * (v - 1));
        one = days_of(base, d, d, Grain::day);
      }
      if (!one || one->lo > one->hi || one->hi > base.hi) break;
      out.push_back({one->lo, one->hi});
    }
    return out;
  }
  return out;
}

// Behind the word of exception.
size_t TimeParser::excepted_places(size_t i, TimeConstraint& out) const {
  if (!excepting_) return 0;
  const auto frame = std::find_if(out_.constraints.rbegin(), out_.constraints.rend(), [](const TimeConstraint& c) {
    return c.axis == Axis::date && c.join != TimeJoin::except && c.ranges.size() == 1 && !c.anchor &&
           c.ranges[0].lo > kNoBegin && c.ranges[0].hi < kNoEnd;
  });
  if (frame == out_.constraints.rend()) return 0;
  const std::vector<TimeRange> all = counted_in_frame(i, *frame);
  const auto n = static_cast<int64_t>(all.size());
  size_t j = i;
  for (size_t places = 0; places < kLongestList; ++places) {
    j = skip(j, Word::the);
    if (is(j, Lex::ordinal) && t_[j].digits) return 0;  // "except the 14th"
    int64_t v = 1, many = 1;
    const bool from_end = is(j, Word::last) || is(j, Word::penultimate);
    if (is(j, Word::penultimate)) v = 2;
    const size_t k = from_end ? j + 1 : ordinal(j, v);
    if (!k) return 0;
    const size_t more = v == 1 ? count(k, many) : 0;
    const bool one = is(k, Word::one) || said(k, "ones");
    if (one || !more) many = 1;
    if (v < 1 || v + many - 1 > n) return 0;
    for (int64_t at = v; at < v + many; ++at)
      out.ranges.push_back(all[static_cast<size_t>(from_end ? n - at : at - 1)]);
    j = one ? k + 1 : more ? more : k;
    if (said(j, "ones") || is(j, Word::one)) ++j;
    if (!is(j, Word::and_) && !(j < n_ && t_[j].before == ',' && !t_[j].starts)) break;
    j = skip(j, Word::and_);
  }
  if (!sentence_end(j)) return 0;
  out.axis = Axis::date, out.grain = Grain::week, out.absolute = frame->absolute, out.name = "part-of-period";
  return j;
}

}  // namespace quern::memory
