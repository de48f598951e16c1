// Reads a question as one that goes on from the last (follow_up.h): its steps in units, weekdays and sessions
// (follow_up_steps.cc), members of what was asked for, and what narrows it (follow_up.cc).
#pragma once
#include <algorithm>
#include <initializer_list>
#include <memory>
#include <vector>

#include "quern/memory/ask/follow_up.h"

namespace quern::memory {

enum class BaseGrain : uint8_t { session, day, week, weekend, month, year, span };

class FollowUpReader {
 public:
  enum class Noun : uint8_t { one, session };  // what the question has for the next thing
  FollowUpReader(const TimeWords& words, const TimeQuery& own, const CarriedTime& carried, const TurnTable& table,
                 const Clock& clock)
      : w_(words),
        t_(words.tokens),
        n_(words.tokens.size()),
        own_(own),
        carried_(carried),
        table_(table),
        clock_(clock),
        used_(words.tokens.size(), 0) {}
  std::optional<FollowUp> run();
  std::optional<TimeConstraint> part_of_another_time();

 private:
  bool said(size_t i, std::string_view s) const { return i < n_ && w_.spelling(i) == s; }
  bool any_of(size_t i, std::initializer_list<std::string_view> list) const {
    return i < n_ && std::find(list.begin(), list.end(), w_.spelling(i)) != list.end();
  }
  bool is(size_t i, Lex lex) const { return i < n_ && t_[i].lex == lex; }
  bool clause_end(size_t i) const {
    return i >= n_ || t_[i].starts || (t_[i].before != ' ' && t_[i].before != '\0' && t_[i].before != '|') ||
           any_of(i, {"what", "who", "then", "did", "please", "was", "were"});
  }
  // "that", "it", "that one", "this": behind them; the same place when none stands there
  size_t pointer(size_t i) const {
    if (any_of(i, {"that", "it", "this", "then", "those", "these", "them"})) {
      ++i;
      if (any_of(i, {"one", "session", "chat", "conversation", "day", "week", "month"})) ++i;
    }
    return i;
  }
  size_t article(size_t i) const { return any_of(i, {"the", "our"}) ? i + 1 : i; }
  size_t number(size_t i, int64_t& v) const {
    v = 1;
    if (is(i, Lex::number)) {
      v = t_[i].value;
      return i + 1;
    }
    if (any_of(i, {"a", "an"})) return i + 1;
    if (said(i, "couple")) {
      v = 2;
      return said(i + 1, "of") ? i + 2 : i + 1;
    }
    return i;
  }
  // -1 before, 1 after, 0 neither
  int side(size_t i) const {
    if (any_of(i, {"before", "earlier", "previous", "prior", "preceding", "preceded"})) return -1;
    if (any_of(i, {"after", "later", "following", "next", "afterwards", "afterward", "followed", "subsequent"}))
      return 1;
    return 0;
  }
  static FollowUp missing() {
    FollowUp f;
    f.missing = true;
    return f;
  }
  // The tokens up to `end` are those that a step was read from.
  void took(size_t begin, size_t end) {
    for (size_t i = begin; i < std::min(end, n_); ++i) used_[i] = 1;
  }
  void took(const TimeConstraint& c) {
    for (size_t i = 0; i < n_; ++i)
      if (t_[i].begin >= c.begin && t_[i].end <= c.end) used_[i] = 1;
  }
  std::optional<FollowUp> read();
  bool read_by_itself(
      size_t i) const {  // "not last week, the week before": the question says itself what it counts from
    return std::any_of(own_.constraints.begin(), own_.constraints.end(),
                       [&](const TimeConstraint& c) { return t_[i].begin >= c.begin && t_[i].end <= c.end; });
  }
  FollowUp of_days(Day lo, Day hi, Grain grain);
  void keep_hours(FollowUp& f);
  const RowRuns& rows();
  bool days(Day& lo, Day& hi, BaseGrain& grain);
  FollowUp shifted(Unit u, int64_t by);
  std::optional<FollowUp> step_of_unit(size_t i);
  std::optional<FollowUp> step_of_part(size_t i);
  std::optional<FollowUp> step_of_weekday(size_t i);
  FollowUp span_of_units(Unit u, int64_t by);
  std::optional<FollowUp> bounded_by_base(size_t i);
  FollowUp session_steps(int side_of, int64_t n);
  FollowUp session_step(int64_t by);
  std::optional<FollowUp> step_of_one(size_t i);
  FollowUp step(int by, Noun noun);
  FollowUp session_beside(int by, std::string_view phrase);
  FollowUp around(int by, Noun noun);
  std::optional<FollowUp> member(size_t i);
  std::optional<FollowUp> widened(size_t i);
  static bool only(const TimeQuery& q, std::initializer_list<Axis> axes);
  FollowUp met(const TimeQuery& own);
  std::optional<FollowUp> refined();
  bool points() const;
  std::optional<TimeConstraint> hours_named();
  std::optional<FollowUp> part_alone();
  std::optional<FollowUp> same_frame();
  const TimeWords& w_;
  const std::vector<Token>& t_;
  size_t n_;
  const TimeQuery& own_;
  const CarriedTime& carried_;
  const TurnTable& table_;
  const Clock& clock_;
  std::vector<uint8_t> used_;
  bool counted_ = false;
  std::optional<RowRuns> rows_;
};

}  // namespace quern::memory
