// A year that is said once belongs to all that is named beside it: "between Easter and Whitsun 2023", "in March and May
// 2022", "from Christmas 2021 to Easter", "in 2022 except at Easter". What has no year of its own is read again as
// somebody would mean it who speaks in that year.
#include <fmt/format.h>

#include <algorithm>

#include "quern/memory/time/time_parser.h"

namespace quern::memory {

bool TimeParser::names_year(size_t from, size_t to) const {
  for (size_t k = from; k < to && k < n_; ++k) {
    if (is(k, Lex::year) || (is(k, Lex::date) && t_[k].year > 0)) return true;
    if (is(k, Lex::number) && t_[k].digits && t_[k].end - t_[k].begin == 4 && t_[k].value >= 1900 &&
        t_[k].value <= 2199)
      return true;
    if (is_unit(k, Unit::year) && !(k > 0 && is(k - 1, Word::the)))
      return true;  // "last year", and not "of the year"
  }
  return false;
}

// It is of some year, and nothing in it says of which.
bool TimeParser::lacks_year(size_t from, size_t to) const {
  if (names_year(from, to)) return false;
  bool dated = false;
  for (size_t k = from; k < to && k < n_; ++k) {
    const Word w = t_[k].word;
    const bool relative = w == Word::this_ || w == Word::past || w == Word::previous || w == Word::ago ||
                          w == Word::next || w == Word::current || w == Word::recent ||
                          (w == Word::last && !(k + 1 < to && (is(k + 1, Lex::weekday) || is(k + 1, Lex::unit))));
    if (relative || is(k, Lex::day_word)) return false;
    dated |= is(k, Lex::month) || is(k, Lex::season) || is(k, Lex::quarter) || is(k, Lex::date) ||
             holidays_[k].words > 0 || is_unit(k, Unit::quarter) || is_unit(k, Unit::year);
  }
  return dated;
}

// As it is meant on that day: the latest one that has begun by then.
size_t TimeParser::period_by(Day day, size_t i, Period& out) const {
  TimeParser then = *this;
  then.clock_.now = (day + int64_t{1}) * kDaySeconds - 1, then.today_ = day;
  const size_t end = then.period(i, out, 1);
  tries_ = then.tries_;
  return end;
}

// "New Year 2021" behind days of December: their year, which it ends. "New Year's Day 2021" is that day.
bool TimeParser::new_year_of(size_t from, size_t to, Period& p) const {
  if (p.name != std::string_view("holiday") || civil(p.first()).month != 1 || civil(p.first()).day != 1) return false;
  for (size_t k = from; k < to; ++k)
    if (is(k, Word::day) || is_unit(k, Unit::day)) return false;
  const Day day = add_months(p.first(), 12);
  p.lo = day * kDaySeconds, p.hi = (day + int64_t{1}) * kDaySeconds - 1;
  return true;
}

// Of a span whose ends stand from `first` to `left` and from `sep` to `end`.
void TimeParser::share_span_year(SpanPlace at, Period& from, Period& to) const {
  const bool early = lacks_year(at.first, at.left), late = lacks_year(at.sep, at.end);
  Period moved;
  if (early && to.year_said && civil(from.first()).month == 12 && new_year_of(at.sep, at.end, to)) {
    if (period_by(to.first() - 1, at.first, moved) == at.left && !moved.impossible) from = moved;
  } else if (early && (names_year(at.sep, at.end) || to.hi < from.lo)) {
    if (period_by(to.last(), at.first, moved) == at.left && !moved.impossible && moved.lo <= to.hi) from = moved;
  } else if (late && names_year(at.first, at.left)) {
    if (period_by(from.first() + 364, at.sep, moved) == at.end && !moved.impossible && moved.hi >= from.lo)
      to = moved;
  }
}

// "at Christmas 2021 and 2022", "on the first Monday of May in 2021, 2022 and 2023": the phrase again, with the year at k
size_t TimeParser::in_year_too(size_t begin, size_t first_end, size_t k, TimeConstraint& out) const {
  int y = 0;
  if (out.grain == Grain::year || out.ranges.empty() || !names_year(begin, first_end)) return 0;
  if (!(is(k, Lex::year) || (is(k, Lex::number) && t_[k].digits)) || year(k, y) != k + 1) return 0;
  if (!(sentence_end(k + 1) || is(k + 1, Word::and_) || is(k + 1, Word::or_))) return 0;
  TimeParser then = *this;
  then.other_year_ = y;
  Period p;
  const size_t end = then.period(begin, p, 1);
  tries_ = then.tries_;
  if (end != first_end || p.impossible || civil(p.first()).year != y) return 0;
  out.ranges.push_back({p.lo, p.hi}), out.rule = TimeRule::plain;
  return k + 1;
}

// The ranges of a list again, as of that year.
void TimeParser::share_list_year(int year, std::span<const size_t> places, TimeConstraint& out) const {
  for (size_t k = 0; k < places.size() && k < out.ranges.size(); ++k) {
    Period p;
    if (period_by(day_of(year, 12, 31), places[k], p) && !p.impossible && civil(p.first()).year == year)
      out.ranges[k] = {p.lo, p.hi};
  }
}

size_t TimeParser::clause_by(Day day, size_t i, TimeConstraint& out) const {
  TimeParser then = *this;
  then.clock_.now = (day + int64_t{1}) * kDaySeconds - 1, then.today_ = day;
  const size_t end = then.clause(i, out);
  tries_ = then.tries_;
  return end;
}

// "in March as well as in May 2022": c is the second.
void TimeParser::share_united_year(SpanPlace at, TimeConstraint& c) {
  if (out_.constraints.empty() || c.ranges.empty() || c.axis != Axis::date) return;
  TimeConstraint& last = out_.constraints.back();
  if (last.begin != t_[at.first].begin || last.axis != Axis::date || last.ranges.empty()) return;
  if (c.name == std::string_view(kDayOfNamedWeek)) return share_united_week(at, c);
  const bool back = names_year(at.sep, at.end) && lacks_year(at.first, at.left);
  const bool on = names_year(at.first, at.left) && lacks_year(at.sep, at.end);
  if (!back && !on) return;
  const int64_t named = back ? c.ranges[0].lo : last.ranges[0].lo;
  if (named == kNoBegin) return;
  TimeConstraint again;
  const size_t end = clause_by(day_of(civil(day_part(named)).year, 12, 31), back ? at.first : at.sep, again);
  if (end != (back ? at.left : at.end) || again.axis != Axis::date) return;
  (back ? last : c).ranges = again.ranges;
}

// "from Monday to Wednesday and on Saturday last week": c is the second, and its week that of the first.
void TimeParser::share_united_week(SpanPlace at, const TimeConstraint& c) {
  if (!day_alone(at.first, at.left)) return;
  TimeConstraint& last = out_.constraints.back();
  for (TimeRange& r : last.ranges) {
    if (r.lo == kNoBegin || r.hi == kNoEnd) return;
    const int64_t moved = int64_t{week_begin(day_part(c.ranges[0].lo)) - week_begin(day_part(r.lo))} * kDaySeconds;
    r.lo += moved, r.hi += moved;
  }
  last.rule = TimeRule::plain;
}

// "Monday morning", "the 3rd": of no month, and not counted from now.
bool TimeParser::day_alone(size_t from, size_t to) const {
  bool day = false;
  for (size_t k = from; k < to && k < n_; ++k) {
    const Word w = t_[k].word;
    if (w == Word::last || w == Word::this_ || w == Word::past || w == Word::ago || w == Word::next ||
        is(k, Lex::month) || is(k, Lex::unit) || is(k, Lex::day_word) || is(k, Lex::date) || is(k, Lex::year))
      return false;
    day |= is(k, Lex::weekday) || (is(k, Lex::ordinal) && t_[k].digits);
  }
  return day;
}

// "in 2022 except March": of that year.
void TimeParser::read_in_frame(size_t i, size_t end, FrameOf of, TimeConstraint& c) {
  if (c.axis != Axis::date || !(lacks_year(i, end) || (of == FrameOf::excepted && day_alone(i, end)))) return;
  for (const TimeConstraint& frame : out_.constraints) {
    if (frame.axis != Axis::date || frame.join == TimeJoin::except || frame.ranges.empty() || frame.anchor) continue;
    std::vector<TimeRange> found;
    TimeConstraint read;
    for (const TimeRange& whole : frame.ranges) {  // "in 2021 and 2023 without December": of both
      if (whole.lo == kNoBegin || whole.hi == kNoEnd || (frame.ranges.size() > 1 && of == FrameOf::held)) continue;
      TimeConstraint again;
      if (clause_by(std::min(day_part(whole.hi), today_), i, again) != end || again.axis != Axis::date) continue;
      if (!std::all_of(again.ranges.begin(), again.ranges.end(),
                       [&](const TimeRange& r) { return r.lo >= whole.lo && r.hi <= whole.hi; }))
        continue;
      found.insert(found.end(), again.ranges.begin(), again.ranges.end());
      read = std::move(again);
    }
    if (found.empty()) continue;
    const uint32_t from = c.begin, to = c.end;
    const bool mention = c.mention;
    c = std::move(read), c.ranges = std::move(found), c.begin = from, c.end = to, c.mention = mention;
    return;
  }
}

}  // namespace quern::memory
