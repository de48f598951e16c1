#include "quern/memory/ask/follow_up.h"

#include <algorithm>

#include "quern/base/error.h"

namespace quern::memory {
namespace {

enum class BaseGrain : uint8_t { session, day, week, weekend, month, year, span };

class FollowUpReader {
 public:
  FollowUpReader(const TimeWords& words, const TimeQuery& own, const CarriedTime& carried, const TurnTable& table,
                 const Clock& clock)
      : w_(words),
        t_(words.tokens),
        n_(words.tokens.size()),
        own_(own),
        carried_(carried),
        table_(table),
        clock_(clock) {}

  std::optional<FollowUp> run() {
    for (size_t i = 0; i < n_; ++i) {
      if (auto found = step_of_unit(i)) return found;
      if (auto found = step_of_weekday(i)) return found;
      if (auto found = step_of_one(i)) return found;
      if (auto found = member(i)) return found;
    }
    if (carried_.empty()) return std::nullopt;
    for (size_t i = 0; i < n_; ++i)
      if (auto found = widened(i)) return found;
    return refined();
  }

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

  FollowUp of_days(Day lo, Day hi, Grain grain) const {
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

  // "and the day before, in the evening?": the question's own hours still hold.
  void keep_hours(FollowUp& f) const {
    for (const TimeConstraint& c : own_.constraints)
      if (c.axis == Axis::clock || c.axis == Axis::response) f.query.constraints.push_back(c);
  }

  const std::vector<uint32_t>& rows() {
    if (!rows_) rows_ = select_rows(carried_.query, table_, clock_).rows;
    return *rows_;
  }

  // First and last day of what the last question meant.
  bool days(Day& lo, Day& hi, BaseGrain& grain) {
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

  FollowUp shifted(Unit u, int64_t by) {
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
  std::optional<FollowUp> step_of_unit(size_t i) {
    size_t j = article(i);
    int64_t v = 1;
    const int leading = side(j);
    if (leading && !(j == i && any_of(j, {"before", "after", "earlier", "later"}))) {
      const size_t k = number(j + 1, v);
      if (!is(k, Lex::unit) || !clause_end(pointer(k + 1)) || (said(j, "next") && i == j) ||
          (any_of(j, {"previous", "prior"}) && carried_.empty()))
        return std::nullopt;
      counted_ = k > j + 1;
      return carried_.empty() ? std::nullopt : std::optional(shifted(static_cast<Unit>(t_[k].value), leading * v));
    }
    const size_t k = number(j, v);
    if (!is(k, Lex::unit) || t_[k].value < static_cast<int32_t>(Unit::day)) return std::nullopt;
    size_t m = k + 1;
    if (any_of(m, {"right", "just", "immediately", "directly", "that"})) ++m;
    if (any_of(m, {"came", "comes"})) ++m;
    const int s = side(m);
    if (!s || said(m, "previous") || (k == i && !t_[k].plural)) return std::nullopt;
    if (any_of(m, {"before", "after"}) || v >= 1) {
      if (!clause_end(pointer(m + 1)) || said(pointer(m + 1), "to")) return std::nullopt;
      if (said(m, "earlier") && carried_.empty()) return std::nullopt;
      counted_ = k > j;
      if (carried_.empty()) return missing();
      return shifted(static_cast<Unit>(t_[k].value), s * v);
    }
    return std::nullopt;
  }

  // "the Saturday before it", "the following Tuesday"
  std::optional<FollowUp> step_of_weekday(size_t i) {
    size_t j = article(i);
    const bool led = any_of(j, {"following", "previous", "preceding"}) || (said(j, "next") && j > i);
    const size_t day = led ? j + 1 : j;
    if (!is(day, Lex::weekday) || t_[day].plural) return std::nullopt;
    size_t m = day + 1;
    if (any_of(m, {"right", "just", "immediately", "directly"})) ++m;
    const int s = led ? side(j) : side(m);
    if (!s || (!led && (!any_of(m, {"before", "after"}) || !clause_end(pointer(m + 1))))) return std::nullopt;
    if (carried_.empty()) return led ? std::nullopt : std::optional(missing());
    Day lo = 0, hi = 0;
    BaseGrain grain;
    if (!days(lo, hi, grain)) return missing();
    const int wd = t_[day].value;
    const Day d = s < 0 ? lo - ((weekday_of(lo) - wd + 6) % 7 + 1) : hi + ((wd - weekday_of(hi) + 6) % 7 + 1);
    return of_days(d, d, Grain::day);
  }

  // "since then", "until then": from its first day, to its last
  std::optional<FollowUp> bounded_by_base(size_t i) {
    Day lo = 0, hi = 0;
    BaseGrain grain;
    if (!days(lo, hi, grain)) return missing();
    FollowUp f = of_days(lo, hi, Grain::week);
    TimeConstraint& c = f.query.constraints[0];
    c.ranges = {said(i, "since") ? TimeRange{lo * kDaySeconds, kNoEnd}
                                 : TimeRange{kNoBegin, (hi + int64_t{1}) * kDaySeconds - 1}};
    return f;
  }

  FollowUp session_steps(int side_of, int64_t n) {
    FollowUp f = session_step(side_of);
    if (!f.missing) f.query.constraints[0].ranges = {side_of < 0 ? TimeRange{-n, -1} : TimeRange{1, n}};
    return f;
  }

  FollowUp session_step(int64_t by) {
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
  std::optional<FollowUp> step_of_one(size_t i) {
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
      return step(side(j), said(j + 1, "one"));
    }
    // "and the next?", "the two before that"
    if (j > i && side(j) != 0 && clause_end(j + 1) && any_of(j, {"next", "previous", "following", "preceding"}))
      return carried_.empty() ? std::nullopt : std::optional(step(side(j), true));
    if (const size_t k = number(j, v);
        k > j && j > i && any_of(k, {"before", "after"}) && k + 1 < pointer(k + 1) && clause_end(pointer(k + 1)))
      return carried_.empty() ? std::optional(missing()) : std::optional(session_steps(side(k), v));
    v = 1;
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
      return step(static_cast<int>(s * v), one);
    }
    // and before that?  right after it?
    if (any_of(j, {"before", "after"}) && any_of(j + 1, {"that", "it", "this"})) {
      const size_t end = pointer(j + 1);
      if (!clause_end(end) || carried_.empty()) return std::nullopt;
      return around(side(j), said(end - 1, "one"));
    }
    return std::nullopt;
  }

  // One more of what the last question had.
  FollowUp step(int by, bool one) {
    Day lo = 0, hi = 0;
    BaseGrain grain;
    if (!days(lo, hi, grain)) return missing();
    if (grain == BaseGrain::session || !one) return session_step(by);
    switch (grain) {
      case BaseGrain::week:
        return shifted(Unit::week, by);
      case BaseGrain::weekend:
        return shifted(Unit::weekend, by);
      case BaseGrain::month:
        return shifted(Unit::month, by);
      case BaseGrain::year:
        return shifted(Unit::year, by);
      default:
        return session_step(by);
    }
  }

  // "and before that?": of sessions the next one; of days everything on that side, with a note.
  FollowUp around(int by, bool one) {
    Day lo = 0, hi = 0;
    BaseGrain grain;
    if (!days(lo, hi, grain)) return missing();
    if (grain == BaseGrain::session || one) return step(by, true);
    FollowUp f = of_days(lo, hi, Grain::week);
    TimeConstraint& c = f.query.constraints[0];
    c.ranges = {by < 0 ? TimeRange{kNoBegin, lo * kDaySeconds - 1}
                       : TimeRange{(hi + int64_t{1}) * kDaySeconds, kNoEnd}};
    c.nothing = false;
    f.query.notes.push_back(fmt::format("'{} that' is taken as everything {} {}", by < 0 ? "before" : "after",
                                        by < 0 ? "before" : "after", date_text(by < 0 ? lo : hi)));
    return f;
  }

  // "the second of them", "the last one", "the first of those chats", "and the third?"
  std::optional<FollowUp> member(size_t i) {
    if (carried_.empty() && !any_of(i + 2, {"them", "those", "these"}) && !any_of(i + 3, {"them", "those", "these"}))
      return std::nullopt;
    size_t j = article(i);
    const bool last = any_of(j, {"last", "latest", "newest", "final"});
    if (!is(j, Lex::ordinal) && !last) return std::nullopt;
    size_t m = j + 1;
    int64_t many = 1;
    if (const size_t k = number(m, many); k > m && !said(m, "one") && any_of(k, {"of"}))
      m = k;
    else
      many = 1;
    const bool one = said(m, "one") || said(m, "ones");
    if (one || (is(m, Lex::session) && t_[m].value == 0)) ++m;
    const bool of = said(m, "of") && any_of(m + 1, {"them", "those", "these", "that", "it"});
    const bool led = i > 0 && any_of(i - 1, {"on", "in", "of", "for", "at", "since", "until", "from"});
    const bool bare = clause_end(m) && j > i && (one || (m == j + 1 && !led && !last && !t_[j].digits));
    if (!of && !bare) return std::nullopt;
    if (carried_.empty()) return missing();
    FollowUp f;
    for (const TimeConstraint& c : carried_.query.constraints)
      if (c.axis != Axis::session || !c.counted || of) f.query.constraints.push_back(c);
    TimeConstraint c;
    c.axis = Axis::session, c.counted = true, c.from_end = last, c.name = "follow-up";
    const int64_t v = last ? 1 : t_[j].value;
    c.ranges = {many > 1 ? TimeRange{1, many} : TimeRange{v, v}};
    for (TimeConstraint& old : f.query.constraints)
      if (old.axis == Axis::session) {  // counted among them
        old.begin = old.end = 0;
      }
    f.query.constraints.push_back(std::move(c));
    f.replaces = true;
    keep_hours(f);
    return f;
  }

  // "that week" of a day that was named
  std::optional<FollowUp> widened(size_t i) {
    if (!any_of(i, {"that", "same"})) return std::nullopt;
    const size_t at = any_of(i + 1, {"whole", "entire", "same", "very", "full"}) ? i + 2 : i + 1;
    if (!is(at, Lex::unit)) return std::nullopt;
    const Unit u = static_cast<Unit>(t_[at].value);
    Day lo = 0, hi = 0;
    BaseGrain grain;
    if ((u != Unit::week && u != Unit::month && u != Unit::year && u != Unit::weekend) || !days(lo, hi, grain))
      return std::nullopt;
    const bool smaller = grain == BaseGrain::day || grain == BaseGrain::session ||
                         (u == Unit::month && hi - lo < 14) || (u == Unit::year && hi - lo < 300);
    if (!smaller || (u == Unit::weekend && grain != BaseGrain::day)) return std::nullopt;
    return shifted(u, 0);
  }

  static bool only(const TimeQuery& q, std::initializer_list<Axis> axes) {
    return !q.empty() && std::all_of(q.constraints.begin(), q.constraints.end(), [&](const TimeConstraint& c) {
      return std::find(axes.begin(), axes.end(), c.axis) != axes.end();
    });
  }

  FollowUp met(const TimeQuery& own) {
    FollowUp f;
    for (const TimeConstraint& c : carried_.query.constraints) {
      const bool replaced = std::any_of(own.constraints.begin(), own.constraints.end(), [&](const TimeConstraint& o) {
        return o.axis == c.axis && c.axis != Axis::session && o.join == TimeJoin::meet;
      });
      if (!replaced) f.query.constraints.push_back(c);
    }
    for (TimeConstraint c : own.constraints) {
      if (c.join == TimeJoin::unite) c.join = TimeJoin::meet;
      f.query.constraints.push_back(std::move(c));
    }
    f.query.notes = own.notes, f.query.unread = own.unread;
    f.replaces = true;
    settle_frames(f.query);
    return f;
  }

  // "and in the evening?", "and on the 21st?", "and in March?", "only the mornings": a part of the same time.
  std::optional<FollowUp> refined() {
    const bool short_one = elliptic(w_);
    const bool pointing = points();
    if (own_.empty()) return part_alone(short_one);
    if (only(own_, {Axis::clock, Axis::weekday}) && (short_one || pointing)) return met(own_);
    if (only(own_, {Axis::response}) && pointing) return met(own_);
    if (only(own_, {Axis::session}) && pointing && own_.constraints.size() == 1 && own_.constraints[0].counted)
      return met(own_);
    if (std::all_of(own_.constraints.begin(), own_.constraints.end(),
                    [](const TimeConstraint& c) { return c.join == TimeJoin::except; }) &&
        (short_one || pointing))
      return met(own_);
    if (short_one && own_.constraints.size() == 1 && own_.constraints[0].axis == Axis::date) return same_frame();
    return std::nullopt;
  }

  bool points() const {
    for (size_t i = 0; i < n_; ++i)
      if (any_of(i, {"then", "same", "those", "these", "them"}) ||
          (any_of(i, {"that", "this"}) && (is(i + 1, Lex::unit) || is(i + 1, Lex::session) || is(i + 1, Lex::part) ||
                                           any_of(i + 1, {"time", "date", "period", "occasion"}))))
        return true;
    return false;
  }

  // "and the evening?", "that morning": hours with nothing in front
  std::optional<FollowUp> part_alone(bool short_one) {
    for (size_t i = 0; i < n_; ++i)
      if (is(i, Lex::part) && (short_one || (i > 0 && any_of(i - 1, {"that", "same"})))) {
        TimeQuery hours;
        TimeConstraint c;
        c.axis = Axis::clock, c.grain = Grain::part, c.name = "part-of-day";
        constexpr int64_t kHour = 3600;
        switch (static_cast<DayPart>(t_[i].value)) {
          case DayPart::morning:
            c.ranges = {{5 * kHour, 12 * kHour - 1}};
            break;
          case DayPart::afternoon:
            c.ranges = {{12 * kHour, 17 * kHour - 1}};
            break;
          case DayPart::evening:
            c.ranges = {{17 * kHour, 22 * kHour - 1}};
            break;
          case DayPart::night:
            c.ranges = {{22 * kHour, kDaySeconds - 1}, {0, 5 * kHour - 1}};
            break;
        }
        hours.constraints.push_back(std::move(c));
        return met(hours);
      }
    return std::nullopt;
  }

  // "and on the 21st?" is of the same month, "and on Tuesday?" of the same week, "and in March?" of the year that was
  // named.
  std::optional<FollowUp> same_frame() {
    const TimeConstraint& mine = own_.constraints[0];
    Day lo = 0, hi = 0;
    BaseGrain grain;
    if (mine.ranges.size() != 1 || !days(lo, hi, grain)) return std::nullopt;
    const std::string_view name = mine.name;
    const Day d = mine.ranges[0].lo == kNoBegin ? 0 : day_part(mine.ranges[0].lo);
    if (name == "day-of-month" && mine.grain == Grain::day) {
      const Civil c = civil(lo);
      const int day = civil(d).day;
      if (!date_exists(c.year, c.month, day)) return std::nullopt;
      const Day there = day_of(c.year, c.month, day);
      return of_days(there, there, Grain::day);
    }
    if (mine.rule == TimeRule::named_day && grain == BaseGrain::week) {
      const Day there = week_begin(lo) + weekday_of(d);
      return of_days(there, there, Grain::day);
    }
    if (mine.grain == Grain::month && name == "month" && mine.absolute && carried_.year_named && !names_a_year(w_)) {
      const Day there = day_of(civil(lo).year, civil(d).month, 1);
      if (there * kDaySeconds <= clock_.now) return of_days(there, add_months(there, 1) - 1, Grain::month);
    }
    if (name == "date" && mine.absolute && carried_.year_named && !names_a_year(w_) && mine.grain == Grain::day) {
      const Civil c = civil(d);
      if (date_exists(civil(lo).year, c.month, c.day)) {
        const Day there = day_of(civil(lo).year, c.month, c.day);
        if (there * kDaySeconds <= clock_.now) return of_days(there, there, Grain::day);
      }
    }
    return std::nullopt;
  }

  const TimeWords& w_;
  const std::vector<Token>& t_;
  size_t n_;
  const TimeQuery& own_;
  const CarriedTime& carried_;
  const TurnTable& table_;
  const Clock& clock_;
  bool counted_ = false;
  std::optional<std::vector<uint32_t>> rows_;
};

}  // namespace

bool elliptic(const TimeWords& words) {
  const size_t n = words.tokens.size();
  auto said = [&](size_t i, std::string_view s) { return i < n && words.spelling(i) == s; };
  size_t i = 0;
  while (said(i, "ok") || said(i, "okay") || said(i, "so") || said(i, "hm") || said(i, "hmm") || said(i, "um") ||
         said(i, "well") || said(i, "now") || said(i, "oh"))
    ++i;
  if (said(i, "and") || said(i, "but") || said(i, "same") || said(i, "only") || said(i, "just") || said(i, "or") ||
      said(i, "also"))
    return true;
  if ((said(i, "what") || said(i, "how")) && said(i + 1, "about")) return true;
  return n <= i + 4;
}

bool names_a_year(const TimeWords& words) {
  return std::any_of(words.tokens.begin(), words.tokens.end(), [](const Token& t) {
    return t.lex == Lex::year || (t.lex == Lex::date && t.year > 0) ||
           (t.lex == Lex::number && t.digits && t.value >= 1900 && t.value < 2200);
  });
}

std::optional<FollowUp> follow_up(const TimeWords& words, const TimeQuery& own, const CarriedTime& carried,
                                  const TurnTable& table, const Clock& clock) {
  return FollowUpReader(words, own, carried, table, clock).run();
}

}  // namespace quern::memory
