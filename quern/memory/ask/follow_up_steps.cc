// Steps from what the last question meant: "the day before", "the following Tuesday", "the one that came next".
#include "quern/base/error.h"
#include "quern/memory/ask/follow_up_reader.h"

namespace quern::memory {

FollowUp FollowUpReader::of_days(Day lo, Day hi, Grain grain) {
  FollowUp f;
  TimeConstraint c;
  c.ranges = {{lo * kDaySeconds, (hi + int64_t{1}) * kDaySeconds - 1}};
  c.grain = grain, c.absolute = true, c.name = "follow-up";
  if (c.ranges[0].lo > clock_.now) c.nothing = true;
  f.query.constraints.push_back(std::move(c));
  f.replaces = true;
  keep_hours(f);
  return f;
}

// "and the day before, in the evening?", "and the week before, except Monday?": the question's own hours still hold, and
// so does what it leaves out.
void FollowUpReader::keep_hours(FollowUp& f) {
  bool excepts = false;
  for (const TimeConstraint& c : own_.constraints) {
    if (c.axis != Axis::clock && c.axis != Axis::response && c.join != TimeJoin::except) continue;
    excepts |= c.join == TimeJoin::except;
    f.query.constraints.push_back(c), took(c);
  }
  if (std::none_of(own_.constraints.begin(), own_.constraints.end(),
                   [](const TimeConstraint& c) { return c.axis == Axis::clock; }))  // "the morning of the next day"
    if (auto hours = hours_named()) f.query.constraints.push_back(std::move(*hours));
  if (excepts) settle_frames(f.query);
}

const RowRuns& FollowUpReader::rows() {
  if (!rows_) rows_ = select_rows(carried_.query, table_, clock_).rows;
  return *rows_;
}

// First and last day of what the last question meant.
bool FollowUpReader::days(Day& lo, Day& hi, BaseGrain& grain) {
  const TimeConstraint* date = nullptr;
  grain = BaseGrain::span;
  for (const TimeConstraint& c : carried_.query.constraints) {
    if (c.axis == Axis::date && !c.ranges.empty() && !c.anchor) date = &c;
    if (c.axis == Axis::session) grain = BaseGrain::session;
  }
  if (date && grain != BaseGrain::session) {
    const TimeRange first = date->ranges.front(), last = date->ranges.back();
    lo = day_part(first.lo == kNoBegin ? first.hi : first.lo);
    hi = day_part(last.hi == kNoEnd ? clock_.now : last.hi);
    const int days = hi - lo + 1;
    grain = days == 1                                            ? BaseGrain::day
            : days == 2 && weekday_of(lo) == 5                   ? BaseGrain::weekend
            : days == 7                                          ? BaseGrain::week
            : days >= 28 && days <= 31 && month_begin(lo) == lo  ? BaseGrain::month
            : days >= 365 && days <= 366 && civil(lo).month == 1 ? BaseGrain::year
                                                                 : BaseGrain::span;
    return true;
  }
  if (rows().empty()) return false;
  lo = day_part(table_.local(rows().front())), hi = day_part(table_.local(rows().back()));
  return true;
}

FollowUp FollowUpReader::shifted(Unit u, int64_t by) {
  Day lo = 0, hi = 0;
  BaseGrain grain;
  if (!days(lo, hi, grain)) return missing();
  const Day from = by < 0 ? lo : hi;
  const Day n = static_cast<Day>(std::clamp<int64_t>(by, -100'000, 100'000));
  switch (u) {
    case Unit::week: {
      if (grain == BaseGrain::day && counted_) return of_days(from + 7 * n, from + 7 * n, Grain::day);
      const Day monday = week_begin(from) + 7 * n;
      return of_days(monday, monday + 6, Grain::week);
    }
    case Unit::weekend: {
      const Day saturday = week_begin(from) + 5 + 7 * (by < 0 && weekday_of(from) < 5 ? n : n);
      return of_days(saturday, saturday + 1, Grain::week);
    }
    case Unit::month: {
      if (grain == BaseGrain::day && counted_) return of_days(add_months(from, n), add_months(from, n), Grain::day);
      const Day first = add_months(month_begin(from), n);
      return of_days(first, add_months(first, 1) - 1, Grain::month);
    }
    case Unit::year: {
      if (grain == BaseGrain::day) return of_days(add_months(from, 12 * n), add_months(from, 12 * n), Grain::day);
      if (grain == BaseGrain::month) {
        const Day first = add_months(month_begin(from), 12 * n);
        return of_days(first, add_months(first, 1) - 1, Grain::month);
      }
      const int y = civil(from).year + n;
      return of_days(day_of(y, 1, 1), day_of(y, 12, 31), Grain::year);
    }
    default:
      return of_days(from + n, from + n, Grain::day);
  }
}

// "the day before", "two weeks later", "the following month", "the next day"
std::optional<FollowUp> FollowUpReader::step_of_unit(size_t i) {
  size_t j = article(i);
  int64_t v = 1;
  const int leading = side(j);
  if (leading && !(j == i && any_of(j, {"before", "after", "earlier", "later"}))) {
    const size_t k = number(j + 1, v);
    if (!is(k, Lex::unit) || !clause_end(pointer(k + 1)) || (said(j, "next") && i == j) ||
        (any_of(j, {"previous", "prior"}) && carried_.empty()))
      return std::nullopt;
    counted_ = k > j + 1;
    if (carried_.empty()) return std::nullopt;
    took(i, pointer(k + 1));
    return shifted(static_cast<Unit>(t_[k].value), leading * v);
  }
  const size_t k = number(j, v);
  if (!is(k, Lex::unit) || t_[k].value < static_cast<int32_t>(Unit::day)) return std::nullopt;
  size_t m = k + 1;
  if (any_of(m, {"right", "just", "immediately", "directly", "that"})) ++m;
  if (any_of(m, {"came", "comes"})) ++m;
  const bool on = said(m, "on") && k > j && clause_end(m + 1);  // "three days on"
  const int s = on ? 1 : side(m);
  if (!s || said(m, "previous") || (k == i && !t_[k].plural)) return std::nullopt;
  if (any_of(m, {"before", "after"}) || v >= 1) {
    const size_t than = said(m + 1, "than") ? m + 2 : m + 1;  // "a week earlier than that"
    const size_t end = pointer(than);
    if (!clause_end(end) || said(end, "to") || (than > m + 1 && end == than)) return std::nullopt;
    if (said(m, "earlier") && carried_.empty()) return std::nullopt;
    counted_ = k > j;
    if (carried_.empty()) return missing();
    took(i, end);
    const Unit u = static_cast<Unit>(t_[k].value);
    if (said(i, "the") && v > 1 && any_of(m, {"before", "after", "following", "preceding"}))
      return span_of_units(u, s * v);
    return shifted(u, s * v);
  }
  return std::nullopt;
}

// "the two weeks before that": all of them
FollowUp FollowUpReader::span_of_units(Unit u, int64_t by) {
  FollowUp first = shifted(u, by < 0 ? -1 : 1), last = shifted(u, by);
  if (first.missing || last.missing) return missing();
  TimeRange &a = first.query.constraints[0].ranges[0], b = last.query.constraints[0].ranges[0];
  a = {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
  return first;
}

// "the following evening", "the previous morning"
std::optional<FollowUp> FollowUpReader::step_of_part(size_t i) {
  const size_t j = article(i);
  if (!any_of(j, {"following", "previous", "preceding", "next"}) || (said(j, "next") && j == i)) return std::nullopt;
  if (!is(j + 1, Lex::part) || t_[j + 1].plural || carried_.empty()) return std::nullopt;
  took(i, j + 2);
  counted_ = true;
  return shifted(Unit::day, side(j));
}

// "the Saturday before it", "the following Tuesday"
std::optional<FollowUp> FollowUpReader::step_of_weekday(size_t i) {
  size_t j = article(i);
  const bool led = any_of(j, {"following", "previous", "preceding"}) || (said(j, "next") && j > i);
  const size_t day = led ? j + 1 : j;
  if (!is(day, Lex::weekday) || t_[day].plural) return std::nullopt;
  if (carried_.empty() && said(j, "following") && j > i) return missing();
  size_t m = day + 1;
  if (any_of(m, {"right", "just", "immediately", "directly"})) ++m;
  const int s = led ? side(j) : side(m);
  if (!s || (!led && (!any_of(m, {"before", "after"}) || !clause_end(pointer(m + 1))))) return std::nullopt;
  if (carried_.empty()) return led ? std::nullopt : std::optional(missing());
  Day lo = 0, hi = 0;
  BaseGrain grain;
  if (!days(lo, hi, grain)) return missing();
  took(i, led ? day + 1 : pointer(m + 1));
  const int wd = t_[day].value;
  const Day d = s < 0 ? lo - ((weekday_of(lo) - wd + 6) % 7 + 1) : hi + ((wd - weekday_of(hi) + 6) % 7 + 1);
  return of_days(d, d, Grain::day);
}

// "since then", "until then": from its first day, to its last
std::optional<FollowUp> FollowUpReader::bounded_by_base(size_t i) {
  Day lo = 0, hi = 0;
  BaseGrain grain;
  if (!days(lo, hi, grain)) return missing();
  took(i, i + 2);
  FollowUp f = of_days(lo, hi, Grain::week);
  TimeConstraint& c = f.query.constraints[0];
  c.ranges = {said(i, "since") ? TimeRange{lo * kDaySeconds, kNoEnd}
                               : TimeRange{kNoBegin, (hi + int64_t{1}) * kDaySeconds - 1}};
  return f;
}

FollowUp FollowUpReader::session_steps(int side_of, int64_t n) {
  FollowUp f = session_step(side_of);
  if (!f.missing) f.query.constraints[0].ranges = {side_of < 0 ? TimeRange{-n, -1} : TimeRange{1, n}};
  return f;
}

FollowUp FollowUpReader::session_step(int64_t by) {
  if (rows().empty()) return missing();
  FollowUp f;
  TimeConstraint c;
  c.axis = Axis::session, c.name = "follow-up";
  c.anchor = std::make_shared<const TimeQuery>(carried_.query);
  c.ranges = {{by, by}};
  f.query.constraints.push_back(std::move(c));
  f.replaces = true;
  keep_hours(f);
  return f;
}

// "the one that came next", "the one before that", "the next session", "and before that one", "and after that?"
std::optional<FollowUp> FollowUpReader::step_of_one(size_t i) {
  size_t j = article(i);
  int64_t v = 1;
  if (const size_t k = number(j, v); k > j && is(k, Lex::session))
    j = k;
  else
    v = 1;
  const bool led = side(j) != 0 && (j > i || any_of(j, {"next", "previous", "following"})) &&
                   (said(j + 1, "one") || (is(j + 1, Lex::session) && t_[j + 1].value == 0 && !t_[j + 1].plural));
  if (led && clause_end(pointer(j + 2))) {
    if (carried_.empty()) return std::nullopt;
    took(i, pointer(j + 2));
    return step(side(j), said(j + 1, "one") ? Noun::one : Noun::session);
  }
  // "and the next?", "the two before that"
  if (j > i && side(j) != 0 && clause_end(j + 1) && any_of(j, {"next", "previous", "following", "preceding"}))
    return carried_.empty() ? std::nullopt : std::optional((took(i, j + 1), step(side(j), Noun::one)));
  int64_t several = 1;
  if (const size_t k = number(j, several); k > j && j > i && !said(j, "one") && any_of(k, {"before", "after"}) &&
                                           k + 1 < pointer(k + 1) && clause_end(pointer(k + 1)))
    return carried_.empty() ? missing() : (took(i, pointer(k + 1)), session_steps(side(k), several));
  if (any_of(j, {"since", "until", "till"}) && said(j + 1, "then") && !carried_.empty()) return bounded_by_base(j);
  const bool one = said(j, "one"), session = is(j, Lex::session) && t_[j].value == 0;
  if ((one && j > i) || session) {
    size_t m = j + 1;
    if (any_of(m, {"that", "which"})) ++m;
    if (any_of(m, {"came", "comes", "was", "is", "followed", "happened", "took"})) m += side(m) ? 0 : 1;
    if (any_of(m, {"right", "just", "immediately", "directly", "straight"})) ++m;
    const int s = side(m);
    if (said(m, "prior") && said(m + 1, "to")) ++m;
    if (!s || !clause_end(pointer(m + 1))) return std::nullopt;
    if (carried_.empty()) return missing();
    took(i, pointer(m + 1));
    return step(static_cast<int>(s * v), one ? Noun::one : Noun::session);
  }
  // and before that?  right after it?
  if (any_of(j, {"before", "after"}) && any_of(j + 1, {"that", "it", "this"})) {
    const size_t end = pointer(j + 1);
    if (!clause_end(end) || carried_.empty()) return std::nullopt;
    for (const TimeConstraint& c : own_.constraints)  // "and before that, in December?"
      if (c.axis == Axis::date && c.join != TimeJoin::except && !read_by_itself(i)) return std::nullopt;
    took(i, end);
    return around(side(j), said(end - 1, "one") ? Noun::one : Noun::session);
  }
  return std::nullopt;
}

// One more of what the last question had.
FollowUp FollowUpReader::step(int by, Noun noun) {
  Day lo = 0, hi = 0;
  BaseGrain grain;
  if (!days(lo, hi, grain)) return missing();
  if (grain == BaseGrain::session || noun == Noun::session) return session_step(by);
  const auto& all = carried_.query.constraints;
  const bool season = all.size() == 1 && all[0].grain == Grain::season && all[0].ranges.size() == 1;
  switch (grain) {
    case BaseGrain::week:
      return shifted(Unit::week, by);
    case BaseGrain::weekend:
      return shifted(Unit::weekend, by);
    case BaseGrain::month:
      return shifted(Unit::month, by);
    case BaseGrain::year:
      return shifted(Unit::year, by);
    default:  // "last summer" → "and the one before?"
      if (season) return of_days(add_months(lo, 12 * by), add_months(hi + 1, 12 * by) - 1, Grain::season);
      return session_beside(by, by < 0 ? "before" : "after");
  }
}

// Beside days "the one before" may be another day, or another of their chats: the latter is taken.
FollowUp FollowUpReader::session_beside(int by, std::string_view side_of) {
  FollowUp f = session_step(by);
  if (!f.missing && !carried_.session_named)
    f.query.notes.push_back(
        fmt::format("the one {} is taken as the conversation {} the time of the question before", side_of, side_of));
  return f;
}

// "and before that?": of sessions the next one; of days everything on that side, with a note.
FollowUp FollowUpReader::around(int by, Noun noun) {
  Day lo = 0, hi = 0;
  BaseGrain grain;
  if (!days(lo, hi, grain)) return missing();
  if (grain == BaseGrain::session || noun == Noun::one) return step(by, Noun::one);
  FollowUp f = of_days(lo, hi, Grain::week);
  TimeConstraint& c = f.query.constraints[0];
  c.ranges = {by < 0 ? TimeRange{kNoBegin, lo * kDaySeconds - 1}
                     : TimeRange{(hi + int64_t{1}) * kDaySeconds, kNoEnd}};
  c.nothing = false;
  f.query.notes.push_back(fmt::format("'{} that' is taken as everything {} {}", by < 0 ? "before" : "after",
                                      by < 0 ? "before" : "after", date_text(by < 0 ? lo : hi)));
  return f;
}

}  // namespace quern::memory
