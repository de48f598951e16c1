// Rows of the conversation table that meet every one of a list of constraints: dates first, then hours, then sessions
// counted among the rest, then responses. It begins with the rows that it is given.
#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "quern/memory/plan/plan.h"

namespace quern::memory {

class RowSelector {
 public:
  RowSelector(std::span<const TimeConstraint> constraints, const TurnTable& table, const Clock& clock, RowRuns begin,
              SpeakersMeant speakers);
  void run();
  void count_what_is_kept() { restricted_ = true; }  // sessions are counted among the rows that it begins with
  RowRuns& kept() { return keep_; }
  std::vector<PlanStep>& steps() { return steps_; }
  std::vector<std::string>& notes() { return notes_; }

 private:
  // A date constraint with the ranges that it has for this table. Standing: absolute dates above relative ones.
  struct DateClaim {
    const TimeConstraint* c;
    std::vector<TimeRange> ranges;
    int standing;
  };
  RowRuns inside(const std::vector<TimeRange>& ranges, Grain grain) const;
  RowRuns ahead_of_clock() const;
  // select_dates.cc
  bool as_labeled(const TimeConstraint& c, std::vector<TimeRange>& ranges);
  bool labeled_days_ago(const TimeConstraint& c);
  void dates();
  void hold(DateClaim& c, std::vector<DateClaim>& held);
  Day bounded(int64_t at) const;
  void apply_dates(const TimeConstraint& c, std::vector<TimeRange> ranges);
  void date_steps(const std::vector<TimeRange>& ranges, Grain grain);
  void date_beside(const TimeConstraint& c, std::vector<TimeRange>& ranges);
  void recurring(const TimeConstraint& c);
  RowRuns day_by_day(const TimeConstraint& c) const;
  // select_sessions.cc
  std::vector<int32_t> begun_sessions() const;
  void session_step(const std::vector<int32_t>& wanted);
  void sessions(const TimeConstraint& c);
  void sessions_beside(const TimeConstraint& c);
  void sessions_beside_date(const TimeConstraint& c);
  static std::vector<int32_t> pick(const TimeConstraint& c, const std::vector<int32_t>& among);
  void take(const std::vector<int32_t>& wanted);
  void take_whole(const std::vector<int32_t>& wanted);
  RowRuns anchor_rows(const TimeQuery& anchor) const;
  void responses(const TimeConstraint& c);
  RowRuns beside_rows(const RowRuns& anchor, const TimeRange& steps) const;
  RowRuns numbered_rows(const TimeRange& numbers) const;
  void response_step(const std::vector<uint32_t>& wanted);

  std::span<const TimeConstraint> constraints_;
  const TurnTable& t_;
  const Clock& clock_;
  size_t n_ = 0;
  int32_t current_ = 1;
  SpeakersMeant speakers_;
  bool restricted_ = false;  // by dates or hours
  RowRuns keep_;
  std::vector<PlanStep> steps_;
  std::vector<std::string> notes_;
};

// "response numbers lo to hi, or …": any set of rows.
PlanStep response_runs(const RowRuns& rows, const TurnTable& table);

}  // namespace quern::memory
