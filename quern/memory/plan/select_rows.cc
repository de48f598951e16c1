// Applies a TimeQuery to the table: each alternative of it is a conjunction (row_selector.h); their rows are united, and
// exceptions taken away. A plan of one conjunction is its chain; else the chain names the responses that were found.
#include <algorithm>
#include <utility>

#include "quern/base/error.h"
#include "quern/memory/plan/row_selector.h"

namespace quern::memory {
namespace {

size_t rows_until(const TurnTable& t, LocalSeconds now) {
  size_t n = t.size();
  while (n > 0 && t.local(n - 1) > now) --n;
  return n;
}

struct Alternatives {
  std::vector<std::vector<TimeConstraint>> held, excepted;
  size_t taken_back = 0;  // exceptions in front of what is held: "not in March, in February"
};

// Dates that are taken away from dates that none of them meets: "February except 3 March".
bool leaves_out_nothing(const std::vector<std::vector<TimeConstraint>>& held, const TimeConstraint& gone) {
  if (gone.axis != Axis::date || gone.anchor || gone.ranges.empty()) return false;
  for (const std::vector<TimeConstraint>& together : held) {
    const bool apart = std::any_of(together.begin(), together.end(), [&](const TimeConstraint& c) {
      return c.axis == Axis::date && !c.anchor && !c.ranges.empty() &&
             std::none_of(c.ranges.begin(), c.ranges.end(), [&](const TimeRange& a) {
               return std::any_of(gone.ranges.begin(), gone.ranges.end(),
                                  [&](const TimeRange& b) { return a.lo <= b.hi && b.lo <= a.hi; });
             });
    });
    if (!apart) return false;
  }
  return true;
}

Alternatives alternatives_of(const TimeQuery& q) {
  Alternatives out;
  for (const TimeConstraint& c : q.constraints) {
    if (c.join == TimeJoin::except)
      out.excepted.push_back({c}), out.taken_back += out.held.empty() ? 1 : 0;
    else if (c.join == TimeJoin::unite || out.held.empty())
      out.held.push_back({c});
    else
      out.held.back().push_back(c);
  }
  if (out.held.empty()) out.held.emplace_back();
  return out;
}

}  // namespace

RowSelector::RowSelector(std::span<const TimeConstraint> constraints, const TurnTable& table, const Clock& clock,
                         std::vector<uint8_t> begin, std::optional<int32_t> speaker)
    : constraints_(constraints), t_(table), clock_(clock), speaker_(speaker), keep_(std::move(begin)) {
  n_ = keep_.size();
  current_ = current_session(table, clock.now);
}

void RowSelector::run() {
  dates();
  for (const TimeConstraint& c : constraints_)
    if (c.axis == Axis::weekday || c.axis == Axis::clock) recurring(c);
  for (const TimeConstraint& c : constraints_)
    if (c.axis == Axis::session) sessions(c);
  const auto n_session = std::count_if(constraints_.begin(), constraints_.end(),
                                       [](const TimeConstraint& c) { return c.axis == Axis::session; });
  if (n_session > 1 && std::none_of(keep_.begin(), keep_.end(), [](uint8_t k) { return k != 0; }))
    notes_.push_back("the sessions that are named exclude each other");
  if (speaker_) keep_if([&](size_t r) { return t_.speaker[r] == *speaker_; });
  for (const TimeConstraint& c : constraints_)
    if (c.axis == Axis::response) responses(c);
}

PlanStep response_runs(const std::vector<uint32_t>& rows, const TurnTable& t) {
  PlanStep s{Column::response_index, true, {}, ""};
  for (const auto& [lo, hi] : t.runs(rows)) {
    if (!s.sql.empty()) s.sql += " OR ";
    s.values.push_back(std::to_string(lo)), s.values.push_back(std::to_string(hi));
    s.sql += fmt::format("resp BETWEEN {} AND {}", lo, hi);
  }
  s.sql = rows.empty() ? "0" : "(" + s.sql + ")";
  return s;
}

int32_t current_session(const TurnTable& t, LocalSeconds now) {
  const size_t n = rows_until(t, now);
  if (n == 0) return 1;
  return t.session[n - 1] + (now - t.local(n - 1) > t.gap ? 1 : 0);
}

Selection select_rows(const TimeQuery& query, const TurnTable& table, const Clock& clock,
                      std::optional<int32_t> speaker) {
  const size_t n = rows_until(table, clock.now);
  Selection out;
  out.notes = query.notes;
  if (n < table.size())
    out.notes.push_back(
        fmt::format("{} turns are later than {} and left out", table.size() - n, time_text(clock.now)));
  if (query.constraints.empty()) {
    for (size_t r = 0; r < n; ++r)
      if (!speaker || table.speaker[r] == *speaker) out.rows.push_back(static_cast<uint32_t>(r));
    return out;
  }
  const Alternatives all = alternatives_of(query);
  std::vector<uint8_t> kept;
  for (const std::vector<TimeConstraint>& held : all.held) {
    RowSelector one(held, table, clock, std::vector<uint8_t>(n, 1), speaker);
    one.run();
    if (kept.empty())
      kept = std::move(one.kept());
    else
      for (size_t r = 0; r < n; ++r) kept[r] |= one.kept()[r];
    for (PlanStep& s : one.steps()) out.plan.steps.push_back(std::move(s));
    for (std::string& note : one.notes()) out.notes.push_back(std::move(note));
  }
  for (const std::vector<TimeConstraint>& gone : all.excepted) {  // counted among what is there
    const bool behind = static_cast<size_t>(&gone - all.excepted.data()) >= all.taken_back;
    if (behind && leaves_out_nothing(all.held, gone[0]))
      out.notes.push_back(fmt::format("{} is left out of a time that it is no part of",
                                      date_text(day_part(std::max(gone[0].ranges[0].lo, kNoBegin + kDaySeconds)))));
    RowSelector one(gone, table, clock, kept, std::nullopt);
    one.count_what_is_kept();
    one.run();
    for (size_t r = 0; r < n; ++r) kept[r] &= one.kept()[r] ? 0 : 1;
    for (std::string& note : one.notes()) out.notes.push_back(std::move(note));
  }
  for (size_t r = 0; r < n; ++r)
    if (kept[r]) out.rows.push_back(static_cast<uint32_t>(r));
  out.restricted = !query.constraints.empty();
  if (all.held.size() > 1 || !all.excepted.empty())
    out.plan.steps = {response_runs(out.rows, table)};
  else if (n < table.size() && out.restricted && n > 0)
    out.plan.steps.push_back({Column::date_time,
                              true,
                              {time_text(table.local(0)), time_text(clock.now)},
                              fmt::format("ts + tz_off <= {}", clock.now)});
  return out;
}

}  // namespace quern::memory
