// Dates, hours and days of the week: the first part of a selection.
#include <algorithm>
#include <utility>

#include "quern/base/error.h"
#include "quern/memory/plan/row_selector.h"

namespace quern::memory {
namespace {

bool whole_days(const TimeRange& r) {
  return (r.lo == kNoBegin || second_part(r.lo) == 0) && (r.hi == kNoEnd || second_part(r.hi) == kDaySeconds - 1);
}

}  // namespace

// Sessions that began as many times 24 hours before the last one began.
bool RowSelector::labeled_days_ago(const TimeConstraint& c) {
  const LocalSeconds last = t_.local(t_.session_begin(t_.session[n_ - 1]));
  std::vector<int32_t> wanted;
  for (size_t r = 0; r < n_; r = t_.session_begin(t_.session[r] + 1, r))
    if ((last - t_.local(r)) / kDaySeconds == c.argument) wanted.push_back(t_.session[r]);
  take(wanted);
  return true;
}

// The data set counts days back by 24 hours between beginnings of sessions, and so on: see docs/memory.md.
bool RowSelector::as_labeled(const TimeConstraint& c, std::vector<TimeRange>& ranges) {
  if (clock_.semantics != Semantics::tmd || n_ == 0) return false;
  const Day today = clock_.today();
  if (c.rule == TimeRule::days_ago) return labeled_days_ago(c);
  if (c.rule == TimeRule::named_day) {
    for (size_t r = n_; r-- > 0;) {
      const Day d = day_part(t_.local(r));
      if (d < today && weekday_of(d) == c.argument) {
        ranges = {{d * kDaySeconds, (d + int64_t{1}) * kDaySeconds - 1}};
        break;
      }
    }
    return false;
  }
  if (c.rule == TimeRule::earlier_today) {
    const int32_t last = t_.session[n_ - 1];
    keep_ = keep_ & t_.local_between(today * kDaySeconds, today * kDaySeconds + kDaySeconds - 1) &
            RowRuns::below(t_.session_begin(last));
    steps_.push_back({Column::date, false, {date_text(today)}, fmt::format("day = {}", today)});
    steps_.push_back({Column::session_index,
                      true,
                      {"1", std::to_string(last - 1)},
                      fmt::format("session BETWEEN 1 AND {}", last - 1)});
    return true;
  }
  return false;
}

// Dates that cannot hold together: one named outright or behind "as mentioned on" wins over one counted from now,
// which then belongs to what was said. Two of the same standing are both taken.
void RowSelector::dates() {
  std::vector<DateClaim> claims;
  for (const TimeConstraint& c : constraints_) {
    restricted_ |= c.axis == Axis::date || c.axis == Axis::weekday || c.axis == Axis::clock;
    if (c.axis != Axis::date) continue;
    std::vector<TimeRange> ranges = c.ranges;
    if (as_labeled(c, ranges)) continue;
    if (c.anchor) date_beside(c, ranges);
    if (c.nothing) ranges.clear();
    claims.push_back({&c, std::move(ranges), (c.absolute ? 2 : 0) + (c.mention ? 1 : 0)});
  }
  std::stable_sort(claims.begin(), claims.end(),
                   [](const DateClaim& a, const DateClaim& b) { return a.standing > b.standing; });
  std::vector<DateClaim> held;
  for (DateClaim& c : claims) hold(c, held);
  for (const DateClaim& c : held) apply_dates(*c.c, c.ranges);
}

void RowSelector::hold(DateClaim& c, std::vector<DateClaim>& held) {
  bool meets = true;
  for (DateClaim& h : held) {
    const bool overlap = std::any_of(h.ranges.begin(), h.ranges.end(), [&](const TimeRange& a) {
      return std::any_of(c.ranges.begin(), c.ranges.end(),
                         [&](const TimeRange& b) { return a.lo <= b.hi && b.lo <= a.hi; });
    });
    if (overlap) continue;
    meets = false;
    if (h.standing == c.standing && c.c->absolute == h.c->absolute && !c.ranges.empty()) {
      h.ranges.insert(h.ranges.end(), c.ranges.begin(), c.ranges.end());
      notes_.push_back("two dates that exclude each other: both are taken");
    } else if (!c.ranges.empty()) {
      notes_.push_back(fmt::format("{} to {} is set aside: it does not meet the date named outright",
                                   date_text(bounded(c.ranges[0].lo)), date_text(bounded(c.ranges[0].hi))));
    }
    break;
  }
  if (meets || c.ranges.empty()) held.push_back(std::move(c));
}

// Days, weeks or months counted from what the anchor selects; 0: those on which it lies.
void RowSelector::date_beside(const TimeConstraint& c, std::vector<TimeRange>& ranges) {
  const RowRuns rows = anchor_rows(*c.anchor);
  ranges.clear();
  if (rows.empty()) {
    notes_.push_back("nothing was said at the time that the question starts from");
    return;
  }
  const Day first = day_part(t_.local(rows.front())), last = day_part(t_.local(rows.back()));
  for (const TimeRange& x : c.ranges) {
    auto at = [&](int64_t step) {
      const Day from = step < 0 ? first : last;
      const Day base = c.grain == Grain::week ? week_begin(from) : c.grain == Grain::month ? month_begin(from) : from;
      return c.grain == Grain::month ? add_months(base, step)
                                     : base + static_cast<Day>(step * (c.grain == Grain::week ? 7 : 1));
    };
    const Day end = c.grain == Grain::week    ? at(x.hi) + 6
                    : c.grain == Grain::month ? add_months(at(x.hi), 1) - 1
                                              : at(x.hi);
    ranges.push_back({(x.lo == 0 && x.hi == 0 && c.grain == Grain::day ? first : at(x.lo)) * kDaySeconds,
                      (end + int64_t{1}) * kDaySeconds - 1});
  }
}

Day RowSelector::bounded(int64_t at) const {
  if (at == kNoEnd) return clock_.today();
  if (at == kNoBegin) return n_ ? day_part(t_.local(0)) : clock_.today();
  return day_part(at);
}

// Turns that have been said, by clocks that are ahead of the asker's: from Tokyo, asked in London.
RowRuns RowSelector::ahead_of_clock() const {
  if (n_ == 0 || t_.max_offset <= clock_.offset) return {};
  return RowRuns::below(n_) & t_.local_between(clock_.now + 1, kNoEnd);
}

// What reaches to now has what was said until now.
RowRuns RowSelector::inside(const std::vector<TimeRange>& ranges, Grain grain) const {
  RowRuns out;
  for (const TimeRange& x : ranges) {
    if (grain == Grain::second) {
      const size_t lo = x.lo <= kNoBegin ? 0 : t_.first_at(x.lo - clock_.offset);
      const size_t hi = x.hi >= kNoEnd ? t_.size() : t_.rows_until(x.hi - clock_.offset);
      RowRuns one;
      one.add(lo, hi);
      out = out | one;
      continue;
    }
    out = out | t_.local_between(x.lo, x.hi);
    if (x.lo <= clock_.now && x.hi >= clock_.now) out = out | ahead_of_clock();
  }
  return out;
}

void RowSelector::apply_dates(const TimeConstraint& c, std::vector<TimeRange> ranges) {
  Grain grain = c.grain;
  const auto any_row = [&] { return !(RowRuns::below(n_) & inside(ranges, grain)).empty(); };
  if (c.soft && ranges.size() == 1) {
    if (!any_row()) {
      ranges[0] = {clock_.today() * kDaySeconds, clock_.now};
      notes_.push_back("nothing was said in that part of the day: all of today is taken");
    }
  }
  if (std::string_view(c.name) == "vague" && ranges.size() == 1 && !any_row()) {
    const int64_t width = std::max<int64_t>(ranges[0].hi - ranges[0].lo + 1, 3 * kDaySeconds);
    const TimeRange wider{ranges[0].lo - width, std::min<int64_t>(ranges[0].hi + kDaySeconds, clock_.now)};
    const std::vector<TimeRange> narrow = std::exchange(ranges, {wider});
    if (any_row())
      notes_.push_back(fmt::format("nothing was said then: taken as {} to {}", date_text(day_part(wider.lo)),
                                   date_text(day_part(wider.hi))));
    else
      ranges = narrow;
  } else if (c.rule == TimeRule::days_ago && ranges.size() == 1 && !any_row()) {
    // Nothing on that day: days may have been counted in hours.
    const TimeRange hours{clock_.now - (c.argument + 1) * kDaySeconds + 1, clock_.now - c.argument * kDaySeconds};
    const std::vector<TimeRange> day = std::exchange(ranges, {hours});
    grain = Grain::second;
    if (any_row())
      notes_.push_back(fmt::format("nothing was said on {}: taken as {} times 24 hours",
                                   date_text(day_part(day[0].lo)), c.argument));
    else
      ranges = day, grain = c.grain;
  }
  keep_ = keep_ & inside(ranges, grain);
  date_steps(ranges, grain);
}

void RowSelector::date_steps(const std::vector<TimeRange>& ranges, Grain grain) {
  PlanStep s{Column::date, false, {}, ""};
  const auto reaches_now = [&](const TimeRange& r) { return r.lo <= clock_.now && r.hi >= clock_.now; };
  const std::string ahead =
      grain != Grain::second && std::any_of(ranges.begin(), ranges.end(), reaches_now) && !ahead_of_clock().empty()
          ? fmt::format(" OR ts + tz_off > {}", clock_.now)
          : "";
  if (ranges.empty()) {
    s.sql = "0";
    steps_.push_back(s);
    return;
  }
  const bool whole = grain != Grain::second && std::all_of(ranges.begin(), ranges.end(), whole_days);
  const TimeRange& one = ranges[0];
  if (!whole && ranges.size() == 1 && one.lo != kNoBegin && one.hi != kNoEnd && ahead.empty() &&
      grain != Grain::second && day_part(one.lo) == day_part(one.hi)) {
    s.values = {date_text(day_part(one.lo))}, s.sql = fmt::format("day = {}", day_part(one.lo));
    steps_.push_back(s);
    steps_.push_back({Column::time,
                      true,
                      {clock_text(second_part(one.lo)), clock_text(second_part(one.hi))},
                      fmt::format("tod BETWEEN {} AND {}", second_part(one.lo), second_part(one.hi))});
    return;
  }
  if (!whole) s.column = Column::date_time;
  s.between = !std::all_of(ranges.begin(), ranges.end(), [&](const TimeRange& r) {
    return whole && r.lo != kNoBegin && r.hi != kNoEnd && day_part(r.lo) == day_part(r.hi);
  });
  for (const TimeRange& r : ranges) {
    if (!s.sql.empty()) s.sql += " OR ";
    if (whole) {
      s.values.push_back(date_text(bounded(r.lo)));
      if (s.between) s.values.push_back(date_text(bounded(r.hi)));
      s.sql += fmt::format("day BETWEEN {} AND {}", bounded(r.lo), bounded(r.hi));
    } else {
      const LocalSeconds lo = r.lo == kNoBegin ? bounded(r.lo) * kDaySeconds : r.lo,
                         hi = r.hi == kNoEnd ? clock_.now : r.hi;
      s.values.push_back(time_text(lo)), s.values.push_back(time_text(hi));
      s.sql += grain == Grain::second ? fmt::format("ts BETWEEN {} AND {}", lo - clock_.offset, hi - clock_.offset)
                                      : fmt::format("ts + tz_off BETWEEN {} AND {}", lo, hi);
    }
  }
  s.sql = "(" + s.sql + ahead + ")";
  steps_.push_back(std::move(s));
}

// Among the rows that are kept: hours or whole days of every day that they reach over.
RowRuns RowSelector::day_by_day(const TimeConstraint& c) const {
  const bool by_day = c.axis == Axis::weekday;
  if (keep_.empty()) return {};
  // Clocks on the wall may go back by as much as offsets differ.
  const LocalSeconds spread = t_.max_offset - t_.min_offset;
  const Day first = day_part(t_.local(keep_.front()) - spread), last = day_part(t_.local(keep_.back()) + spread);
  constexpr size_t kRowsInsteadOfASearch = 8;
  if (keep_.size() < kRowsInsteadOfASearch * static_cast<size_t>(last - first + 1))
    return keep_.where([&](uint32_t r) {
      const int64_t v = by_day ? weekday_of(day_part(t_.local(r))) : second_part(t_.local(r));
      return std::any_of(c.ranges.begin(), c.ranges.end(),
                         [&](const TimeRange& x) { return v >= x.lo && v <= x.hi; });
    });
  std::vector<RowRun> found;
  size_t near = 0;  // no row of this day or a later one lies before it
  for (Day d = first; d <= last; ++d) {
    const LocalSeconds day = d * kDaySeconds;
    near = t_.first_at(day - t_.max_offset, near);
    for (const TimeRange& x : c.ranges) {
      const bool whole = by_day && weekday_of(d) >= x.lo && weekday_of(d) <= x.hi;
      if (by_day && !whole) continue;
      const RowRuns one = by_day ? t_.local_between(day, day + kDaySeconds - 1, near)
                                 : t_.local_between(day + x.lo, day + x.hi, near);
      found.insert(found.end(), one.runs().begin(), one.runs().end());
    }
  }
  return RowRuns::joined(std::move(found));
}

void RowSelector::recurring(const TimeConstraint& c) {
  const bool by_day = c.axis == Axis::weekday;
  keep_ = keep_ & day_by_day(c);
  PlanStep s{by_day ? Column::day_name : Column::time, !by_day, {}, ""};
  for (const TimeRange& r : c.ranges) {
    if (!s.sql.empty()) s.sql += " OR ";
    s.sql += fmt::format("{} BETWEEN {} AND {}", by_day ? "dow" : "tod", r.lo, r.hi);
    if (by_day)
      for (int64_t d = r.lo; d <= r.hi; ++d) s.values.push_back(weekday_name(static_cast<int>(d)));
    else
      s.values.push_back(clock_text(static_cast<int32_t>(r.lo))),
          s.values.push_back(clock_text(static_cast<int32_t>(r.hi)));
  }
  s.sql = "(" + s.sql + ")";
  steps_.push_back(std::move(s));
}

}  // namespace quern::memory
