// Applies a TimeQuery to the table: dates first, then hours, then sessions counted among the rest, then responses.
#include <algorithm>
#include <utility>

#include "quern/base/error.h"
#include "quern/memory/plan/plan.h"

namespace quern::memory {
namespace {

bool whole_days(const TimeRange& r) {
  return (r.lo == kNoBegin || second_part(r.lo) == 0) && (r.hi == kNoEnd || second_part(r.hi) == kDaySeconds - 1);
}

class RowSelector {
 public:
  RowSelector(const TimeQuery& q, const TurnTable& t, const Clock& clock) : q_(q), t_(t), clock_(clock) {
    n_ = t.size();
    while (n_ > 0 && t.local(n_ - 1) > clock.now) --n_;
    keep_.assign(n_, 1);
    current_ = current_session(t, clock.now);
  }

  Selection run() {
    out_.notes = q_.notes;
    if (n_ < t_.size())
      out_.notes.push_back(
          fmt::format("{} turns are later than {} and left out", t_.size() - n_, time_text(clock_.now)));
    dates();
    for (const TimeConstraint& c : q_.constraints)
      if (c.axis == Axis::weekday || c.axis == Axis::clock) recurring(c);
    for (const TimeConstraint& c : q_.constraints)
      if (c.axis == Axis::session) sessions(c);
    for (const TimeConstraint& c : q_.constraints)
      if (c.axis == Axis::response) responses(c);
    for (size_t r = 0; r < n_; ++r)
      if (keep_[r]) out_.rows.push_back(static_cast<uint32_t>(r));
    return std::move(out_);
  }

 private:
  template <class F>
  void keep_if(F&& f) {
    for (size_t r = 0; r < n_; ++r)
      if (keep_[r] && !f(r)) keep_[r] = 0;
    out_.restricted = true;
  }

  template <class F>
  bool any_row(F&& f) const {
    for (size_t r = 0; r < n_; ++r)
      if (f(r)) return true;
    return false;
  }

  // The data set counts days back by 24 hours between beginnings of sessions, and so on: see docs/memory.md.
  bool as_labeled(const TimeConstraint& c, std::vector<TimeRange>& ranges) {
    if (clock_.semantics != Semantics::tmd || n_ == 0) return false;
    const Day today = clock_.today();
    if (c.rule == TimeRule::days_ago) {
      const auto begin_of = [&](size_t row) {
        while (row > 0 && t_.session[row - 1] == t_.session[row]) --row;
        return row;
      };
      const LocalSeconds last = t_.local(begin_of(n_ - 1));
      std::vector<int32_t> wanted;
      for (size_t r = 0; r < n_; ++r)
        if (r == 0 || t_.session[r] != t_.session[r - 1])
          if ((last - t_.local(r)) / kDaySeconds == c.argument) wanted.push_back(t_.session[r]);
      keep_if([&](size_t r) { return std::binary_search(wanted.begin(), wanted.end(), t_.session[r]); });
      session_step(wanted);
      return true;
    }
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
      keep_if([&](size_t r) { return day_part(t_.local(r)) == today && t_.session[r] != last; });
      out_.plan.steps.push_back({Column::date, false, {date_text(today)}, fmt::format("day = {}", today)});
      out_.plan.steps.push_back({Column::session_index,
                                 true,
                                 {"1", std::to_string(last - 1)},
                                 fmt::format("session BETWEEN 1 AND {}", last - 1)});
      return true;
    }
    return false;
  }

  // Dates that cannot hold together: one named outright or behind "as mentioned on" wins over one counted from now,
  // which then belongs to what was said. Two of the same standing are both taken.
  void dates() {
    struct Claim {
      const TimeConstraint* c;
      std::vector<TimeRange> ranges;
      int standing;
    };
    std::vector<Claim> claims;
    for (const TimeConstraint& c : q_.constraints) {
      if (c.axis != Axis::date) continue;
      std::vector<TimeRange> ranges = c.ranges;
      if (as_labeled(c, ranges)) continue;
      claims.push_back({&c, std::move(ranges), (c.absolute ? 2 : 0) + (c.mention ? 1 : 0)});
    }
    std::stable_sort(claims.begin(), claims.end(),
                     [](const Claim& a, const Claim& b) { return a.standing > b.standing; });
    std::vector<Claim> held;
    for (Claim& c : claims) {
      bool meets = true;
      for (Claim& h : held) {
        const bool overlap = std::any_of(h.ranges.begin(), h.ranges.end(), [&](const TimeRange& a) {
          return std::any_of(c.ranges.begin(), c.ranges.end(),
                             [&](const TimeRange& b) { return a.lo <= b.hi && b.lo <= a.hi; });
        });
        if (overlap) continue;
        meets = false;
        if (h.standing == c.standing && c.c->absolute == h.c->absolute && !c.ranges.empty()) {
          h.ranges.insert(h.ranges.end(), c.ranges.begin(), c.ranges.end());
          out_.notes.push_back("two dates that exclude each other: both are taken");
        } else if (!c.ranges.empty()) {
          out_.notes.push_back(fmt::format("{} to {} is set aside: it does not meet the date named outright",
                                           date_text(bounded(c.ranges[0].lo)), date_text(bounded(c.ranges[0].hi))));
        }
        break;
      }
      if (meets || c.ranges.empty()) held.push_back(std::move(c));
    }
    for (const Claim& c : held) apply_dates(*c.c, c.ranges);
  }

  Day bounded(int64_t at) const {
    if (at == kNoEnd) return clock_.today();
    if (at == kNoBegin) return n_ ? day_part(t_.local(0)) : clock_.today();
    return day_part(at);
  }

  void apply_dates(const TimeConstraint& c, std::vector<TimeRange> ranges) {
    auto inside = [&](size_t r) {
      const LocalSeconds at = t_.local(r);
      return std::any_of(ranges.begin(), ranges.end(), [&](const TimeRange& x) { return at >= x.lo && at <= x.hi; });
    };
    if (c.soft && ranges.size() == 1) {
      if (!any_row(inside)) {
        ranges[0] = {clock_.today() * kDaySeconds, clock_.now};
        out_.notes.push_back("nothing was said in that part of the day: all of today is taken");
      }
    }
    if (c.rule == TimeRule::days_ago && ranges.size() == 1 && !any_row(inside)) {
      // Nothing on that day: days may have been counted in hours.
      const TimeRange hours{clock_.now - (c.argument + 1) * kDaySeconds + 1, clock_.now - c.argument * kDaySeconds};
      const std::vector<TimeRange> day = std::exchange(ranges, {hours});
      if (any_row(inside))
        out_.notes.push_back(fmt::format("nothing was said on {}: taken as {} times 24 hours",
                                         date_text(day_part(day[0].lo)), c.argument));
      else
        ranges = day;
    }
    keep_if(inside);
    date_steps(ranges);
  }

  void date_steps(const std::vector<TimeRange>& ranges) {
    PlanStep s{Column::date, false, {}, ""};
    if (ranges.empty()) {
      s.sql = "0";
      out_.plan.steps.push_back(s);
      return;
    }
    const bool whole = std::all_of(ranges.begin(), ranges.end(), whole_days);
    const TimeRange& one = ranges[0];
    if (!whole && ranges.size() == 1 && one.lo != kNoBegin && one.hi != kNoEnd &&
        day_part(one.lo) == day_part(one.hi)) {
      s.values = {date_text(day_part(one.lo))}, s.sql = fmt::format("day = {}", day_part(one.lo));
      out_.plan.steps.push_back(s);
      out_.plan.steps.push_back({Column::time,
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
        s.sql += fmt::format("ts + tz_off BETWEEN {} AND {}", lo, hi);
      }
    }
    s.sql = "(" + s.sql + ")";
    out_.plan.steps.push_back(std::move(s));
  }

  void recurring(const TimeConstraint& c) {
    const bool by_day = c.axis == Axis::weekday;
    keep_if([&](size_t r) {
      const int64_t v = by_day ? weekday_of(day_part(t_.local(r))) : second_part(t_.local(r));
      return std::any_of(c.ranges.begin(), c.ranges.end(),
                         [&](const TimeRange& x) { return v >= x.lo && v <= x.hi; });
    });
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
    out_.plan.steps.push_back(std::move(s));
  }

  // Distinct sessions of the rows kept so far, the one going on left out.
  std::vector<int32_t> kept_sessions() const {
    std::vector<int32_t> v;
    for (size_t r = 0; r < n_; ++r)
      if (keep_[r] && t_.session[r] != current_ && (v.empty() || v.back() != t_.session[r]))
        v.push_back(t_.session[r]);
    return v;
  }

  void session_step(const std::vector<int32_t>& wanted) {
    PlanStep s{Column::session_index, false, {}, ""};
    const bool run = wanted.size() > 2 && wanted.back() - wanted.front() + 1 == static_cast<int32_t>(wanted.size());
    if (run) {
      s.between = true, s.values = {std::to_string(wanted.front()), std::to_string(wanted.back())};
      s.sql = fmt::format("session BETWEEN {} AND {}", wanted.front(), wanted.back());
    } else {
      for (const int32_t w : wanted) s.values.push_back(std::to_string(w));
      s.sql = fmt::format("session IN ({})", fmt::join(wanted, ", "));
    }
    out_.plan.steps.push_back(std::move(s));
  }

  void sessions(const TimeConstraint& c) {
    if (std::string_view(c.name) == "session-beside-date") {
      int32_t found = 0;
      for (size_t r = 0; r < n_; ++r) {
        const LocalSeconds at = t_.local(r);
        if (c.from_end ? at <= c.argument : at >= c.argument && !found) found = t_.session[r];
      }
      std::vector<int32_t> wanted;
      if (found) wanted.push_back(found);
      return take(wanted);
    }
    // Among what the dates left: "the third chat in May". When there is no such one, the number counts all sessions.
    if (c.counted && out_.restricted) {
      const std::vector<int32_t> among = kept_sessions();
      const std::vector<int32_t> wanted = pick(c, among);
      if (!wanted.empty()) return take(wanted);
    }
    std::vector<int32_t> wanted;
    const int32_t last = n_ ? t_.session[n_ - 1] : 0;
    for (const TimeRange& r : c.ranges) {
      int64_t lo = r.lo, hi = r.hi;
      if (c.from_end) lo = current_ - std::min<int64_t>(r.hi, current_), hi = current_ - r.lo;
      for (int64_t s = std::max<int64_t>(lo, 1); s <= std::min<int64_t>(hi, std::max(last, current_)); ++s)
        wanted.push_back(static_cast<int32_t>(s));
    }
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    if (wanted.empty()) out_.notes.push_back(fmt::format("there are {} sessions, none of that number", last));
    take(wanted);
  }

  static std::vector<int32_t> pick(const TimeConstraint& c, const std::vector<int32_t>& among) {
    std::vector<int32_t> out;
    const int64_t n = static_cast<int64_t>(among.size());
    for (const TimeRange& r : c.ranges)
      for (int64_t k = std::max<int64_t>(r.lo, 1); k <= std::min(r.hi, n); ++k)
        out.push_back(among[static_cast<size_t>(c.from_end ? n - k : k - 1)]);
    std::sort(out.begin(), out.end());
    return out;
  }

  void take(const std::vector<int32_t>& wanted) {
    keep_if([&](size_t r) { return std::binary_search(wanted.begin(), wanted.end(), t_.session[r]); });
    session_step(wanted);
  }

  void responses(const TimeConstraint& c) {
    std::vector<uint32_t> kept;
    for (size_t r = 0; r < n_; ++r)
      if (keep_[r]) kept.push_back(static_cast<uint32_t>(r));
    std::vector<uint32_t> wanted;
    const int64_t n = static_cast<int64_t>(kept.size());
    if (c.numbered) {
      for (const uint32_t r : kept)
        if (std::any_of(c.ranges.begin(), c.ranges.end(),
                        [&](const TimeRange& x) { return t_.response[r] >= x.lo && t_.response[r] <= x.hi; }))
          wanted.push_back(r);
    } else {
      for (const TimeRange& x : c.ranges)
        for (int64_t k = std::max<int64_t>(x.lo, 1); k <= std::min(x.hi, n); ++k)
          wanted.push_back(kept[static_cast<size_t>(c.from_end ? n - k : k - 1)]);
      std::sort(wanted.begin(), wanted.end());
    }
    std::fill(keep_.begin(), keep_.end(), 0);
    for (const uint32_t r : wanted) keep_[r] = 1;
    out_.restricted = true;
    PlanStep s{Column::response_index, false, {}, ""};
    const bool run = wanted.size() > 2 && t_.response[wanted.back()] - t_.response[wanted.front()] + 1 ==
                                              static_cast<int32_t>(wanted.size());
    if (run) {
      s.between = true,
      s.values = {std::to_string(t_.response[wanted.front()]), std::to_string(t_.response[wanted.back()])};
      s.sql = fmt::format("resp BETWEEN {} AND {}", t_.response[wanted.front()], t_.response[wanted.back()]);
    } else {
      for (const uint32_t r : wanted) s.values.push_back(std::to_string(t_.response[r]));
      s.sql = fmt::format("resp IN ({})", fmt::join(s.values, ", "));
    }
    out_.plan.steps.push_back(std::move(s));
  }

  const TimeQuery& q_;
  const TurnTable& t_;
  const Clock& clock_;
  size_t n_ = 0;
  int32_t current_ = 1;
  std::vector<uint8_t> keep_;
  Selection out_;
};

}  // namespace

int32_t current_session(const TurnTable& t, LocalSeconds now) {
  size_t n = t.size();
  while (n > 0 && t.local(n - 1) > now) --n;
  if (n == 0) return 1;
  return t.session[n - 1] + (now - t.local(n - 1) > t.gap ? 1 : 0);
}

Selection select_rows(const TimeQuery& query, const TurnTable& table, const Clock& clock) {
  return RowSelector(query, table, clock).run();
}

}  // namespace quern::memory
