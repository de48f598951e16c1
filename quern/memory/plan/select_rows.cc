// Applies a TimeQuery to the table: each alternative of it is a conjunction (row_selector.h); their rows are united, and
// exceptions taken away. A plan of one conjunction is its chain; else the chain names the responses that were found.
#include <algorithm>
#include <span>
#include <utility>

#include "quern/base/error.h"
#include "quern/memory/plan/row_selector.h"

namespace quern::memory {
namespace {

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
                         RowRuns begin, SpeakersMeant speakers)
    : constraints_(constraints), t_(table), clock_(clock), speakers_(speakers), keep_(std::move(begin)) {
  n_ = keep_.size();
  current_ = current_session(table, clock);
}

void RowSelector::run() {
  dates();
  for (const TimeConstraint& c : constraints_)
    if (c.axis == Axis::weekday || c.axis == Axis::clock) recurring(c);
  for (const TimeConstraint& c : constraints_)
    if (c.axis == Axis::session) sessions(c);
  const auto n_session = std::count_if(constraints_.begin(), constraints_.end(),
                                       [](const TimeConstraint& c) { return c.axis == Axis::session; });
  if (n_session > 1 && keep_.empty()) notes_.push_back("the sessions that are named exclude each other");
  if (speakers_.only) keep_ = keep_ & RowRuns::of(t_.said_by(*speakers_.only));
  if (speakers_.left_out) keep_ = keep_ - RowRuns::of(t_.said_by(*speakers_.left_out));
  for (const TimeConstraint& c : constraints_)
    if (c.axis == Axis::response) responses(c);
}

PlanStep response_runs(const RowRuns& rows, const TurnTable& t) {
  PlanStep s{Column::response_index, true, {}, ""};
  for (const auto& [lo, hi] : t.runs(rows)) {
    if (!s.sql.empty()) s.sql += " OR ";
    s.values.push_back(std::to_string(lo)), s.values.push_back(std::to_string(hi));
    s.sql += fmt::format("resp BETWEEN {} AND {}", lo, hi);
  }
  s.sql = rows.empty() ? "0" : "(" + s.sql + ")";
  return s;
}

int32_t current_session(const TurnTable& t, const Clock& clock) {
  const size_t n = t.rows_until(clock.utc());
  if (n == 0) return 1;
  return t.session[n - 1] + (clock.utc() - t.utc[n - 1] > t.gap ? 1 : 0);
}

namespace {

// The rows of a run that are a speaker's.
std::span<const uint32_t> within_run(std::span<const uint32_t> said, const RowRun& run) {
  const auto lo = std::lower_bound(said.begin(), said.end(), run.lo);
  return {lo, std::lower_bound(lo, said.end(), run.hi)};
}

}  // namespace

size_t Selection::size(const TurnTable& t) const {
  if (!speaker) return rows.size();
  size_t n = 0;
  for (const RowRun& run : rows.runs()) n += within_run(t.said_by(*speaker), run).size();
  return n;
}

bool Selection::has(uint32_t row, const TurnTable& t) const {
  return (!speaker || t.speaker[row] == *speaker) && rows.contains(row);
}

std::vector<uint32_t> Selection::list(const TurnTable& t) const {
  if (!speaker) return rows.rows();
  std::vector<uint32_t> out;
  for (const RowRun& run : rows.runs()) {
    const auto some = within_run(t.said_by(*speaker), run);
    out.insert(out.end(), some.begin(), some.end());
  }
  return out;
}

std::optional<RowRuns> Selection::runs(const TurnTable& t, size_t most) const {
  RowRuns out;
  for (const RowRun& run : rows.runs()) {
    if (!speaker) out.add(run.lo, run.hi);
    if (speaker)
      for (const uint32_t row : within_run(t.said_by(*speaker), run))
        if (out.add(row, row + size_t{1}); out.runs().size() > most) return std::nullopt;
    if (out.runs().size() > most) return std::nullopt;
  }
  return out;
}

Selection select_rows(const TimeQuery& query, const TurnTable& table, const Clock& clock, SpeakersMeant speakers) {
  const size_t n = table.rows_until(clock.utc());
  Selection out;
  out.notes = query.notes;
  if (n < table.size())
    out.notes.push_back(fmt::format("{} {} later than {} and left out", counted_text(table.size() - n, "turn"),
                                    table.size() - n == 1 ? "is" : "are", time_text(clock.now)));
  if (query.constraints.empty()) {
    out.rows = RowRuns::below(n), out.speaker = speakers.only;
    return out;
  }
  const Alternatives all = alternatives_of(query);
  // A speaker's turns are many runs: they are told apart at the end, unless what is counted depends on them.
  const bool counts = all.held.size() > 1 || !all.excepted.empty() ||
                      std::any_of(query.constraints.begin(), query.constraints.end(),
                                  [](const TimeConstraint& c) { return c.axis == Axis::response; });
  if (!counts) out.speaker = speakers.only;
  RowRuns kept;
  for (const std::vector<TimeConstraint>& held : all.held) {
    RowSelector one(held, table, clock, RowRuns::below(n), counts ? speakers : SpeakersMeant{});
    one.run();
    kept = kept | one.kept();
    for (PlanStep& s : one.steps()) out.plan.steps.push_back(std::move(s));
    for (std::string& note : one.notes()) out.notes.push_back(std::move(note));
  }
  for (const std::vector<TimeConstraint>& gone : all.excepted) {  // counted among what is there
    const bool behind = static_cast<size_t>(&gone - all.excepted.data()) >= all.taken_back;
    if (behind && leaves_out_nothing(all.held, gone[0]))
      out.notes.push_back(fmt::format("{} is left out of a time that it is no part of",
                                      date_text(day_part(std::max(gone[0].ranges[0].lo, kNoBegin + kDaySeconds)))));
    RowSelector one(gone, table, clock, kept, {});
    one.count_what_is_kept();
    one.run();
    RowRuns left = kept - one.kept();
    if (left == kept && !kept.empty() && (gone[0].axis == Axis::session || gone[0].axis == Axis::response))
      out.notes.push_back("what is to be left out is not there: nothing is left out");
    kept = std::move(left);
    for (std::string& note : one.notes()) out.notes.push_back(std::move(note));
  }
  out.rows = std::move(kept);
  out.restricted = out.timed = !query.constraints.empty();
  if (all.held.size() > 1 || !all.excepted.empty())
    out.plan.steps = {response_runs(out.rows, table)};
  else if (n < table.size() && out.restricted && n > 0)
    out.plan.steps.push_back({Column::date_time,
                              true,
                              {time_text(table.local(0)), time_text(clock.now)},
                              fmt::format("ts <= {}", clock.utc())});
  return out;
}

}  // namespace quern::memory
