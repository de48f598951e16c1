#include "quern/memory/ask/follow_up.h"

#include "quern/base/error.h"
#include "quern/memory/ask/follow_up_reader.h"

namespace quern::memory {

std::optional<FollowUp> FollowUpReader::run() {
  auto found = read();
  if (found) found->used = std::move(used_);
  return found;
}

std::optional<FollowUp> FollowUpReader::read() {
  for (size_t i = 0; i < n_; ++i) {
    if (auto found = step_of_part(i)) return found;
    if (auto found = step_of_weekday(i)) return found;
    for (const auto step : {&FollowUpReader::step_of_unit, &FollowUpReader::step_of_one, &FollowUpReader::member})
      if (auto found = (this->*step)(i); found && !(found->missing && carried_.empty() && read_by_itself(i)))
        return found;
  }
  if (carried_.empty()) return std::nullopt;
  for (size_t i = 0; i < n_; ++i)
    if (auto found = widened(i)) return found;
  return refined();
}

// "the second of them", "the last one", "the first of those chats", "and the third?"
std::optional<FollowUp> FollowUpReader::member(size_t i) {
  if (carried_.empty() && !any_of(i + 2, {"them", "those", "these"}) && !any_of(i + 3, {"them", "those", "these"}))
    return std::nullopt;
  size_t j = article(i);
  const bool last = any_of(j, {"last", "latest", "newest", "final"});
  if (!is(j, Lex::ordinal) && !last) return std::nullopt;
  size_t m = j + 1;
  int64_t many = 1;
  if (const size_t k = number(m, many); k > m && !said(m, "one") && (any_of(k, {"of"}) || clause_end(k)))
    m = k;
  else
    many = 1;
  const bool one = said(m, "one") || said(m, "ones");
  if (one || (is(m, Lex::session) && t_[m].value == 0)) ++m;
  const bool of = said(m, "of") && any_of(m + 1, {"them", "those", "these", "that", "it"});
  const bool led = i > 0 && any_of(i - 1, {"on", "in", "of", "for", "at", "since", "until", "from"});
  const bool session = m > j + 1 && is(m - 1, Lex::session);
  const bool next = session && !last && j > i && elliptic(w_) && verbless(w_);  // "and the second chat?"
  const bool bare =
      clause_end(m) && j > i && (one || next || many > 1 || (m == j + 1 && !led && !last && !t_[j].digits));
  if (!of && !bare) return std::nullopt;
  if (carried_.empty()) return missing();
  took(i, of ? m + 2 : m);
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
  // "and the second?" after "the first week of May": another week, or another of its conversations; the latter is taken
  const bool of_sessions = carried_.session_named || session || of ||
                           std::any_of(carried_.query.constraints.begin(), carried_.query.constraints.end(),
                                       [](const TimeConstraint& k) { return k.axis == Axis::session; });
  if (!of_sessions)
    f.query.notes.push_back(
        fmt::format("'{}' is taken as a conversation of the time of the question before", w_.spelling(j)));
  f.query.constraints.push_back(std::move(c));
  f.replaces = true;
  keep_hours(f);
  return f;
}

// "that week" of a day that was named
std::optional<FollowUp> FollowUpReader::widened(size_t i) {
  if (!any_of(i, {"that", "same"})) return std::nullopt;
  const size_t at = any_of(i + 1, {"whole", "entire", "same", "very", "full"}) ? i + 2 : i + 1;
  if (!is(at, Lex::unit)) return std::nullopt;
  const Unit u = static_cast<Unit>(t_[at].value);
  Day lo = 0, hi = 0;
  BaseGrain grain;
  if ((u != Unit::week && u != Unit::month && u != Unit::year && u != Unit::weekend) || !days(lo, hi, grain))
    return std::nullopt;
  const bool smaller = grain == BaseGrain::day || grain == BaseGrain::session || (u == Unit::month && hi - lo < 14) ||
                       (u == Unit::year && hi - lo < 300);
  if (!smaller || (u == Unit::weekend && grain != BaseGrain::day)) return std::nullopt;
  // "earlier that week", "later in that month": on one side of the days that were meant
  size_t before = i;
  while (before > 0 && any_of(before - 1, {"in", "on", "of", "during"})) --before;
  const bool rest = before > 0 && any_of(before - 1, {"rest", "remainder"});
  const int part = rest ? 1 : before > 0 && any_of(before - 1, {"earlier", "later"}) ? side(before - 1) : 0;
  took(part ? before - 1 : i, at + 1);
  FollowUp f = shifted(u, 0);
  if (part && !f.missing) {
    TimeRange& r = f.query.constraints[0].ranges[0];
    r = part < 0 ? TimeRange{r.lo, lo * kDaySeconds - 1} : TimeRange{(hi + int64_t{1}) * kDaySeconds, r.hi};
    if (r.lo > r.hi) f.query.constraints[0].nothing = true;
    if (rest) f.query.notes.push_back("the rest is taken as the days after those of the question before");
  } else if (before > 0 &&
             any_of(before - 1, {"days", "weekends", "mornings", "evenings", "parts", "part", "half"})) {
    f.query.notes.push_back(fmt::format("of that {} all of it is taken", w_.spelling(at)));
  }
  return f;
}

bool FollowUpReader::only(const TimeQuery& q, std::initializer_list<Axis> axes) {
  return !q.empty() && std::all_of(q.constraints.begin(), q.constraints.end(), [&](const TimeConstraint& c) {
    return std::find(axes.begin(), axes.end(), c.axis) != axes.end();
  });
}

FollowUp FollowUpReader::met(const TimeQuery& own) {
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
  f.query.notes = own.notes;
  for (size_t i = 0; i + 1 < n_; ++i)  // "on Wednesday of that week"
    if (any_of(i, {"that", "those", "these", "same"}) && (is(i + 1, Lex::unit) || is(i + 1, Lex::session)))
      took(i, i + 2);
  for (const TimeConstraint& c : own.constraints)
    if (c.end > c.begin) took(c);
  for (size_t i = 0; i < n_; ++i)  // that it narrows
    if (any_of(i, {"only", "just"})) used_[i] = 1;
  f.replaces = true;
  settle_frames(f.query);
  return f;
}

// "and in the evening?", "and on the 21st?", "and in March?", "only the mornings": a part of the same time.
std::optional<FollowUp> FollowUpReader::refined() {
  const bool short_one = elliptic(w_);
  const bool pointing = points();
  if (own_.empty()) return part_alone();
  if (only(own_, {Axis::clock, Axis::weekday}) && (short_one || pointing || n_ <= 8)) return met(own_);
  if (only(own_, {Axis::response}) && pointing) return met(own_);
  if (only(own_, {Axis::session}) && pointing && own_.constraints.size() == 1 && own_.constraints[0].counted)
    return met(own_);
  if (std::all_of(own_.constraints.begin(), own_.constraints.end(),
                  [](const TimeConstraint& c) { return c.join == TimeJoin::except; }))
    return met(own_);
  if (short_one && own_.constraints.size() == 1 && own_.constraints[0].axis == Axis::date) return same_frame();
  return std::nullopt;
}

bool FollowUpReader::points() const {
  for (size_t i = 0; i < n_; ++i)
    if (any_of(i, {"then", "same", "those", "these", "them"}) ||
        (any_of(i, {"that", "this"}) && (is(i + 1, Lex::unit) || is(i + 1, Lex::session) || is(i + 1, Lex::part) ||
                                         any_of(i + 1, {"time", "date", "period", "occasion"}))))
      return true;
  return false;
}

// The hours of a part of the day that stands somewhere, by itself.
std::optional<TimeConstraint> FollowUpReader::hours_named() {
  for (size_t i = 0; i < n_; ++i) {
    if (!is(i, Lex::part) || t_[i].plural) continue;
    TimeConstraint c;
    c.axis = Axis::clock, c.grain = Grain::part, c.name = "part-of-day";
    c.ranges = hours_of(static_cast<DayPart>(t_[i].value));
    took(i, i + 1);
    return c;
  }
  return std::nullopt;
}

// "and the evening?", "that morning": hours with nothing in front; "and the 20th?": a day of the same month
std::optional<FollowUp> FollowUpReader::part_alone() {
  const bool short_one = elliptic(w_);
  if (short_one || points())
    if (auto hours = hours_named()) {
      TimeQuery q;
      q.constraints.push_back(std::move(*hours));
      return met(q);
    }
  Day lo = 0, hi = 0;
  BaseGrain grain;
  for (size_t i = 1; short_one && i < n_; ++i)
    if (is(i, Lex::ordinal) && t_[i].digits && any_of(i - 1, {"the"}) && clause_end(i + 1) && days(lo, hi, grain)) {
      const Civil c = civil(lo);
      if (!date_exists(c.year, c.month, t_[i].value)) continue;
      const Day there = day_of(c.year, c.month, t_[i].value);
      took(i - 1, i + 1);
      return of_days(there, there, Grain::day);
    }
  return std::nullopt;
}

// "and on the 21st?" is of the same month, "and on Tuesday?" of the same week, "and in March?" of the year that was
// named.
std::optional<FollowUp> FollowUpReader::same_frame() {
  const TimeConstraint& mine = own_.constraints[0];
  Day lo = 0, hi = 0;
  BaseGrain grain;
  if (mine.ranges.size() != 1 || !days(lo, hi, grain)) return std::nullopt;
  took(mine);
  for (size_t i = 0; i + 1 < n_; ++i)
    if (any_of(i, {"that", "same"}) && is(i + 1, Lex::unit)) took(i, i + 2);
  const std::string_view name = mine.name;
  const Day d = mine.ranges[0].lo == kNoBegin ? 0 : day_part(mine.ranges[0].lo);
  if (name == "day-of-month" && mine.grain == Grain::day) {
    const Civil c = civil(lo);
    const int day = civil(d).day;
    if (!date_exists(c.year, c.month, day)) return std::nullopt;
    const Day there = day_of(c.year, c.month, day);
    return of_days(there, there, Grain::day);
  }
  if (name == "weekend" && grain == BaseGrain::week) {
    const Day saturday = week_begin(lo) + 5;
    return of_days(saturday, saturday + 1, Grain::week);
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

// "and on Tuesday morning?" after "in January": a day by its name or number, outside of what was meant.
std::optional<TimeConstraint> FollowUpReader::part_of_another_time() {
  Day lo = 0, hi = 0;
  BaseGrain grain;
  if (carried_.empty() || !days(lo, hi, grain) || hi == lo) return std::nullopt;
  for (const TimeConstraint& c : own_.constraints) {
    if (c.axis != Axis::date || c.join == TimeJoin::except || c.ranges.empty() || c.anchor) continue;
    bool named = false, complete = false;
    for (size_t i = 0; i < n_; ++i) {
      if (t_[i].begin < c.begin || t_[i].end > c.end) continue;
      named |= is(i, Lex::weekday) || is(i, Lex::ordinal);
      complete |= any_of(i, {"last", "past", "this", "latest", "ago", "before"});
      for (const Lex whole : {Lex::year, Lex::month, Lex::date, Lex::day_word, Lex::holiday, Lex::unit, Lex::season})
        complete |= is(i, whole);
    }
    if (!named) continue;
    if (c.ranges[0].lo == kNoBegin || c.ranges[0].hi == kNoEnd) continue;
    const bool outside = day_part(c.ranges[0].hi) < lo || day_part(c.ranges[0].lo) > hi;
    if (!complete && outside) return c;
  }
  return std::nullopt;
}

bool verbless(const TimeWords& words) {
  for (size_t i = 0; i < words.tokens.size(); ++i) {
    const std::string_view w = words.spelling(i);
    if (words.tokens[i].word == Word::mention ||
        (words.tokens[i].word == Word::talk && words.tokens[i].lex == Lex::other))
      return false;
    for (const std::string_view verb : {"did", "do", "does", "was", "were", "is", "are", "have", "has", "had", "came",
                                        "come", "happened", "tell", "show"})
      if (w == verb) return false;
  }
  return true;
}

std::optional<TimeConstraint> part_of_another_time(const TimeWords& words, const TimeQuery& own,
                                                   const CarriedTime& carried, const TurnTable& table,
                                                   const Clock& clock) {
  return FollowUpReader(words, own, carried, table, clock).part_of_another_time();
}

bool elliptic(const TimeWords& words) {
  const size_t n = words.tokens.size();
  auto said = [&](size_t i, std::string_view s) { return i < n && words.spelling(i) == s; };
  size_t i = 0;
  while (said(i, "no") || said(i, "nope") || said(i, "sorry") || said(i, "actually") || said(i, "wait") ||
         said(i, "rather") || (said(i, "i") && (said(i + 1, "mean") || said(i + 1, "meant"))) || said(i, "mean") ||
         said(i, "meant") || said(i, "ok") || said(i, "okay") || said(i, "so") || said(i, "hm") || said(i, "hmm") ||
         said(i, "um") || said(i, "well") || said(i, "now") || said(i, "oh"))
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

bool names_a_session(const TimeWords& words) {
  for (size_t i = 0; i < words.tokens.size(); ++i) {
    const Token& t = words.tokens[i];
    const bool noun = !t.weak || (i > 0 && (words.spelling(i - 1) == "our" || words.spelling(i - 1) == "the"));
    if (t.lex == Lex::session && t.value == 0 && noun) return true;
  }
  return false;
}

std::optional<FollowUp> follow_up(const TimeWords& words, const TimeQuery& own, const CarriedTime& carried,
                                  const TurnTable& table, const Clock& clock) {
  return FollowUpReader(words, own, carried, table, clock).run();
}

}  // namespace quern::memory
