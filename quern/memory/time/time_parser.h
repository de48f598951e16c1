// Rules of the time grammar, as functions from a token to the token after the phrase (0: the rule does not match).
// Each looks ahead a bounded number of tokens, so that parsing is linear. time_dates.cc has dates and periods,
// time_periods.cc periods relative to now, time_sessions.cc sessions and responses, time_clauses.cc prepositions.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "quern/memory/time/holidays.h"
#include "quern/memory/time/time_query.h"

namespace quern::memory {

constexpr size_t kLongestList = 16;  // of ordinals before the noun they count: looking ahead stays bounded

constexpr const char* kWeekendsBack = "weekends-back";        // "the last two weekends", without the days between
constexpr const char* kWeekdaySpan = "weekday-span";          // "Monday to Wednesday"
constexpr const char* kDayOfNamedWeek = "day-of-named-week";  // "Tuesday last week"

struct Period {
  LocalSeconds lo = 0, hi = 0;  // both inside
  Grain grain = Grain::day;
  bool absolute = false;
  bool impossible = false;  // 31 February
  bool bare_year = false, weak = false;
  bool year_said = false;
  TimeRule rule = TimeRule::plain;
  int64_t argument = 0;
  bool soft = false;
  const char* name = "date";
  static Period days(Day lo, Day hi, Grain g, const char* name) {
    return {.lo = lo * kDaySeconds, .hi = (hi + int64_t{1}) * kDaySeconds - 1, .grain = g, .name = name};
  }
  Day first() const { return day_part(lo); }
  Day last() const { return day_part(hi); }
};

// A date as far as it is said; 0 where it is not.
struct PartialDate {
  int year = 0, month = 0, day = 0;
};

class TimeParser {
 public:
  TimeParser(std::string_view text, const TimeWords& words, const Clock& clock)
      : text_(text), w_(words), t_(words.tokens), n_(words.tokens.size()), clock_(clock), today_(clock.today()) {
    look_over();
  }
  TimeQuery run();
  std::vector<std::string> left(const std::vector<uint8_t>& used);

 private:
  // time_numbers.cc: numbers and tests of tokens
  bool is(size_t i, Word word) const { return i < n_ && t_[i].word == word; }
  bool is(size_t i, Lex lex) const { return i < n_ && t_[i].lex == lex; }
  bool is_unit(size_t i, Unit u) const { return is(i, Lex::unit) && t_[i].value == static_cast<int32_t>(u); }
  bool joined(size_t i) const {
    return i < n_ && (t_[i].before == ' ' || t_[i].before == '-' || t_[i].before == '|' || t_[i].before == '#');
  }
  bool dash(size_t i) const { return i < n_ && t_[i].before == '-'; }
  bool sentence_end(size_t i) const;  // nothing more of the clause follows
  bool preposition(size_t i) const;
  bool preposition_of_time(size_t i) const;
  bool said(size_t i, std::string_view spelling) const { return i < n_ && w_.spelling(i) == spelling; }
  size_t number(size_t i, int64_t& v) const;   // 12, twelve, a hundred and fifty
  size_t count(size_t i, int64_t& v) const;    // number, a, a couple of, a few, half a dozen
  size_t ordinal(size_t i, int64_t& v) const;  // 12th, twelfth, twenty-first
  size_t skip(size_t i, Word w) const { return is(i, w) ? i + 1 : i; }
  bool month_here(size_t i) const;
  bool weekday_here(size_t i) const;

  // time_dates.cc: dates of the calendar
  size_t year(size_t i, int& y) const;
  size_t partial(size_t i, PartialDate& p) const;
  size_t day_number(size_t i, int& d) const;
  Period resolve(const PartialDate& p) const;
  size_t calendar_date(size_t i, Period& out) const;
  size_t day_of_month(size_t i, Period& out) const;
  // time_holidays.cc
  size_t holiday(size_t i, Period& out) const;
  struct HolidayYear {
    bool said = false;
    int year = 0;               // 0: the latest one
    bool before_today = false;  // "last": not today's
    int more = 0;               // "before last"
  };
  void find_holidays();
  HolidayYear holiday_opening(size_t i, size_t& name) const;
  bool holiday_is_time(size_t i, size_t end) const;
  size_t season(size_t i, Period& out) const;
  size_t quarter(size_t i, Period& out) const;
  size_t plain_year(size_t i, Period& out) const;
  size_t numbered_week(size_t i, Period& out) const;
  Period season_in(int season, int year) const;

  // time_periods.cc: counted from now, or from another period
  size_t day_word(size_t i, Period& out) const;
  size_t ago(size_t i, Period& out) const;
  size_t this_or_last_unit(size_t i, Period& out) const;
  void last_units(Unit u, int64_t n, Period& out) const;
  size_t before_last(size_t i, Period& out) const;
  size_t named_day(size_t i, Period& out) const;
  size_t named_relative(size_t i, Period& out) const;
  size_t within(size_t i, Period& base, int depth) const;
  size_t part_of_period(size_t i, Period& out, int depth) const;
  size_t counted_part(size_t i, Period& out, int depth) const;
  size_t counted_list(size_t i, TimeConstraint& out) const;
  size_t beside_period(size_t i, Period& out, int depth) const;
  size_t part_of_named_week(size_t i, Period& out) const;
  size_t part_of_dated_day(size_t i, Period& out) const;
  size_t weeks_before_named(size_t i, Period& out) const;
  size_t midweek(size_t i, Period& out) const;
  size_t eve_of(size_t i, Period& out, int depth) const;
  size_t two_days(size_t i, Period& out) const;
  size_t week_of(size_t i, Period& out, int depth) const;
  size_t part_of_day(size_t i, Period& out, int depth) const;
  size_t with_part(size_t i, Period& p) const;
  Period unit_around(Unit u, int64_t steps) const;
  enum class PartBounds { strict, loose };  // loose: a morning begins at midnight and a night in the evening
  Period day_part_period(Day d, DayPart part, PartBounds bounds) const;

  // time_clauses.cc
  size_t period(size_t i, Period& out, int depth = 0) const;
  // The right side of a range, read three ways; 0 where it is none.
  struct RangeEnd {
    PartialDate date;
    int day = 0;
    Period period;
    size_t after_date = 0, after_day = 0, after_period = 0;
  };
  enum class RangeOpening { none, since, after, before, until };
  size_t range_separator(size_t k, Word opening) const;
  void range_end(size_t k, RangeEnd& e) const;
  Period date_span(PartialDate x, PartialDate y) const;
  size_t range(size_t i, Period& out) const;
  size_t period_range(size_t j, Word opening, RangeEnd& b, Period& out) const;
  RangeOpening range_opening(size_t i, size_t& j) const;
  size_t onward(size_t i, size_t end) const;
  size_t more_periods(size_t begin, size_t end, TimeConstraint& out);
  size_t clause(size_t i, TimeConstraint& out);
  bool mentioned(size_t i) const;
  void drop_vague();
  bool ahead(const TimeConstraint& c, size_t i);
  size_t date_clause(size_t i, TimeConstraint& out);
  size_t date_list(size_t i, TimeConstraint& out) const;
  size_t recurring(size_t i, TimeConstraint& out) const;
  size_t clock_clause(size_t i, TimeConstraint& out) const;
  // time_clock.cc
  struct ClockPoint {
    int32_t at = 0;
    bool whole_hour = false, midnight = false;
    bool bare = false;   // of twelve hours, and which half of the day is not said
    bool alone = false;  // a number and nothing else
  };
  size_t part_behind(size_t i, DayPart& part) const;
  size_t clock_point(size_t i, ClockPoint& out) const;
  size_t minutes_beside(size_t i, ClockPoint& out) const;
  void settle_hours();
  bool counts_nothing(size_t i) const;
  int32_t waking(const ClockPoint& p) const;
  size_t clock_span(size_t i, int32_t& lo, int32_t& hi, bool& guessed) const;
  bool names_day(size_t i) const;
  size_t clock_time(size_t i, int32_t& lo, int32_t& hi, bool& guessed) const;
  TimeConstraint from_period(const Period& p) const;

  // time_nights.cc
  size_t night_between(size_t i, Period& out) const;
  // time_years.cc
  struct SpanPlace {  // tokens
    size_t first = 0, left = 0, sep = 0, end = 0;
  };
  bool names_year(size_t from, size_t to) const;
  bool lacks_year(size_t from, size_t to) const;
  size_t period_by(Day day, size_t i, Period& out) const;
  size_t in_year_too(size_t begin, size_t first_end, size_t k, TimeConstraint& out) const;
  void share_united_week(SpanPlace at, const TimeConstraint& c);
  void share_span_year(SpanPlace at, Period& from, Period& to) const;
  bool new_year_of(size_t from, size_t to, Period& p) const;
  size_t clause_by(Day day, size_t i, TimeConstraint& out) const;
  void share_united_year(SpanPlace at, TimeConstraint& c);
  enum class FrameOf : uint8_t { held, excepted };  // days without a month are of the frame that they are taken from
  void read_in_frame(size_t i, size_t end, FrameOf of, TimeConstraint& c);
  bool day_alone(size_t from, size_t to) const;
  void share_list_year(int year, std::span<const size_t> places, TimeConstraint& out) const;

  // time_vague.cc
  size_t vague(size_t i, TimeConstraint& out);
  size_t days_apart(size_t i, TimeConstraint& out) const;
  size_t same_month_back(size_t i, TimeConstraint& out) const;
  size_t each_ago(size_t i, TimeConstraint& out) const;
  size_t same_day_back(size_t i, TimeConstraint& out);

  // time_excepted.cc
  std::vector<TimeRange> counted_in_frame(size_t before, const TimeConstraint& frame) const;
  size_t excepted_places(size_t i, TimeConstraint& out) const;

  // time_joins.cc
  size_t phrase(size_t i, std::string_view spellings) const;
  size_t exception_word(size_t i) const;
  size_t excepted_behind(size_t i) const;
  bool united(size_t from, size_t to);
  bool small_words(size_t from, size_t to) const;
  size_t contrasted(size_t i, TimeConstraint& out) const;
  enum class Between : uint8_t { nothing, unites };
  void join_in(TimeConstraint&& c, Between between);
  bool corrected(size_t from, size_t to) const;
  void take_back(const TimeConstraint& better);
  void frame_neither();
  void one_of_each();

  // time_leftover.cc
  void look_over();
  bool bends(size_t i, const std::vector<uint8_t>& used) const;
  void leftover(const std::vector<uint8_t>& used);

  // time_sessions.cc
  size_t session_clause(size_t i, TimeConstraint& out) const;
  size_t session_noun(size_t i) const;
  size_t session_range(size_t i, TimeConstraint& out) const;
  size_t session_through(size_t k, Word opening) const;
  size_t sessions_by_number(size_t j, Word opening, TimeConstraint& out) const;
  size_t sessions_by_ordinal(size_t j, Word opening, TimeConstraint& out) const;
  size_t session_place(size_t i, int64_t& v) const;
  size_t sessions_listed(size_t j, TimeConstraint& out) const;
  size_t session_counted(size_t i, TimeConstraint& out) const;
  size_t session_ago(size_t i, TimeConstraint& out) const;
  size_t session_last(size_t i, TimeConstraint& out) const;
  size_t sessions_on_one_side(size_t i, TimeConstraint& out) const;
  size_t one_session(size_t i, TimeConstraint& out) const;
  size_t sessions_since(size_t i, TimeConstraint& out) const;
  size_t session_beside(size_t i, TimeConstraint& out) const;
  enum class Side { before, after };
  size_t session_beside_named(size_t k, Side side, TimeConstraint& out) const;
  // time_anchors.cc
  size_t closely(size_t i) const;
  size_t side_word(size_t i, Side& side) const;
  size_t session_anchor(size_t i, TimeQuery& out) const;
  size_t session_beside_anchor(size_t i, TimeConstraint& out) const;
  size_t sessions_open_anchor(size_t i, TimeConstraint& out) const;
  size_t date_beside_anchor(size_t i, TimeConstraint& out) const;
  size_t response_beside_anchor(size_t i, TimeConstraint& out) const;
  size_t session_not_last(size_t i, TimeConstraint& out) const;
  size_t session_verb(size_t i, TimeConstraint& out) const;
  size_t response_clause(size_t i, TimeConstraint& out) const;
  size_t thing_said(size_t i, TimeConstraint& out) const;
  size_t opened_with(size_t i, TimeConstraint& out) const;

  std::string_view text_;
  const TimeWords& w_;
  const std::vector<Token>& t_;
  size_t n_;
  Clock clock_;
  Day today_;
  std::vector<HolidayFound> holidays_;  // that begin at each token
  size_t first_session_ = SIZE_MAX;     // token that names a session: later "one" may mean another
  bool ahead_of_now_ = false, conjoined_ = false, excepting_ = false;
  bool differing_ = false, comparing_ = false;  // "how does X differ from Y", "compare X to Y"
  TimeQuery out_;
  int other_year_ = 0;         // which a phrase is read with, in place of its own
  mutable int64_t tries_ = 0;  // of number, ordinal and period, from which all longer phrases are made
};

}  // namespace quern::memory
