// How constraints stand to each other: what is taken away ("except on the 28th", "but not the last one", "weekdays
// only"), what is another alternative ("our first chat and the one in June"), and what narrows.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "quern/memory/time/among.h"

#include "quern/memory/time/time_parser.h"

namespace quern::memory {
namespace {

constexpr std::string_view kExceptions[] = {"with the exception of",
                                            "leaving out",
                                            "leaving aside",
                                            "leave out",
                                            "apart from",
                                            "aside from",
                                            "other than",
                                            "not counting",
                                            "not including",
                                            "outside of",
                                            "save for",
                                            "but not",
                                            "just not",
                                            "only not",
                                            "though not",
                                            "except for",
                                            "except",
                                            "excepting",
                                            "excluding",
                                            "exclude",
                                            "besides",
                                            "barring",
                                            "minus",
                                            "without",
                                            "omitting",
                                            "ignoring",
                                            "skipping",
                                            "disregarding",
                                            "outside",
                                            "neither",
                                            "nor",
                                            "skip",
                                            "not"};

// Between two phrases of time: they are alternatives when one of these stands there and nothing but small words.
constexpr std::string_view kUniting[] = {"and", "or", "versus", "vs", "plus", "with", "against", "&", "then", "also"};
constexpr std::string_view kSmall[] = {
    "the",      "one",   "in",        "on",      "of",       "at",    "our",   "as",   "well", "either",
    "both",     "from",  "to",        "that",    "this",     "those", "those", "then", "also", "compared",
    "during",   "again", "maybe",     "perhaps", "together", "along", "i",     "mean", "ones", "we",
    "addition", "had",   "different", "differ",  "differed", "by",    "it",    "so"};

}  // namespace

// The tokens say these words: behind them, else 0.
size_t TimeParser::phrase(size_t i, std::string_view words) const {
  while (!words.empty()) {
    const size_t space = std::min(words.find(' '), words.size());
    if (!said(i, words.substr(0, space))) return 0;
    ++i, words.remove_prefix(std::min(words.size(), space + 1));
  }
  return i;
}

size_t TimeParser::exception_word(size_t i) const {
  if (i >= n_) return 0;
  for (const std::string_view words : kExceptions)
    if (const size_t end = phrase(i, words)) {
      if (words == "not" && (is(end, Word::earlier) || is(end, Word::later) || is(end, Word::before) ||
                             is(end, Word::after) || is(end, Word::until) || said(end, "only") || said(end, "just")))
        return 0;
      return end;
    }
  if ((said(i, "bar") || said(i, "save")) && !out_.constraints.empty() &&
      (is(i + 1, Word::the) || is(i + 1, Lex::weekday)))
    return i + 1;
  const bool plural = i + 1 < n_ && t_[i + 1].plural &&
                      (is_unit(i + 1, Unit::weekend) || is(i + 1, Lex::weekday) || is(i + 1, Lex::part));
  if (said(i, "no") && plural) return i + 1;  // "no weekends"
  // "all chats but the last", "everything but Friday"
  if (is(i, Word::but) && i > 0 && !is(i + 1, Word::before) && !is(i + 1, Word::after) && !is(i + 1, Word::since) &&
      !is(i + 1, Word::until))
    for (size_t back = i; back > 0 && i - back < 6 && !t_[back].starts;)
      if (const std::string_view w = w_.spelling(--back);
          w == "all" || w == "every" || w == "everything" || w == "anything" || w == "any" || w == "each")
        return i + 1;
  // "the last five days but Tuesday"
  const bool behind_time = is(i, Word::but) && !out_.constraints.empty() && i > 0 &&
                           out_.constraints.back().end == t_[i - 1].end && t_[i].before == ' ';
  const size_t day = is(i + 1, Word::the) ? i + 2 : i + 1;
  if (behind_time && (weekday_here(day) || (day > i + 1 && is(day, Lex::ordinal)))) return i + 1;
  return 0;
}

// "in May, Sundays excluded": what takes away the phrase in front of it; behind it, else 0.
size_t TimeParser::excepted_behind(size_t i) const {
  static constexpr std::string_view kBehind[] = {"excluded",      "excepted",       "omitted",     "left out",
                                                 "aside",         "not included",   "not counted", "skipped",
                                                 "doesn't count", "does not count", "don't count"};
  for (const std::string_view words : kBehind)
    if (const size_t end = phrase(i, words)) return end;
  for (const std::string_view words : {"except", "but not"})  // "last week, Monday except"
    if (const size_t end = phrase(i, words); end && sentence_end(end)) return end;
  return 0;
}

bool TimeParser::small_words(size_t from, size_t to) const {
  for (size_t k = from; k < to; ++k)
    if (const std::string_view w = w_.spelling(k); !among(w, kSmall) && !preposition(k) && w != "for" &&
                                                   w != "what" && w != "was" && w != "said" && w != "all" &&
                                                   w != "anything" && w != "everything" && w != "any" &&
                                                   w != "very" && w != "is" && !is(k, Lex::session))
      return false;
  return true;
}

// The words between the last phrase and this one unite them.
bool TimeParser::united(size_t from, size_t to) {
  bool joined = false;
  conjoined_ = false;
  const size_t begin = from;
  for (size_t k = from; k < to; ++k) {
    const std::string_view w = w_.spelling(k);
    conjoined_ |= w == "and" || w == "or" || w == "nor";
    if (among(w, kUniting) || (w == "well" && said(k + 1, "as")) || (w == "addition" && is(k + 1, Word::to)) ||
        (w == "from" && begin < to && differing_) || (w == "to" && comparing_))
      joined = true;
    else if (!among(w, kSmall) && !is(k, Lex::session) && t_[k].word != Word::every)
      return false;
  }
  return joined || comparing_ || differing_ || (from == to && from < n_ && t_[from].before == ',');
}

// "on Monday, I mean Tuesday": what stands between takes back what was said.
bool TimeParser::corrected(size_t from, size_t to) const {
  static constexpr std::string_view kCorrections[] = {
      "i mean",  "i meant",  "or rather", "make that",  "no wait", "wait no", "that is", "i e",   "ie",
      "meaning", "actually", "sorry",     "correction", "so on",   "so",      "i.e",     "namely"};
  for (size_t k = from; k < to + 1 && k < n_; ++k)
    for (const std::string_view words : kCorrections)
      if (const size_t end = phrase(k, words); end && (words != "so" || end >= to) && end <= to + 1) return true;
  return false;
}

// "not last week, the week before", "last weekend and the one before": beside what was just named.
size_t TimeParser::contrasted(size_t i, TimeConstraint& out) const {
  if (out_.constraints.empty()) return 0;
  const TimeConstraint& last = out_.constraints.back();
  const bool joined = i > 0 && (is(i - 1, Word::and_) || is(i - 1, Word::or_)) && i > 1 && t_[i - 2].end == last.end;
  if (last.join != TimeJoin::except && !joined) return 0;
  const size_t j = skip(i, Word::the);
  if (last.axis != Axis::date || last.ranges.size() != 1 || last.ranges[0].lo == kNoBegin ||
      last.ranges[0].hi == kNoEnd || j == i || (j < n_ && t_[j].plural))
    return 0;
  const bool one = is(j, Word::one) && joined, day = weekday_here(j) && joined;
  if (!one && !day && !is(j, Lex::unit)) return 0;
  const bool before = is(j + 1, Word::before);
  if ((!before && !is(j + 1, Word::after)) || !(sentence_end(j + 2) || is(j + 2, Word::that) || said(j + 2, "it")))
    return 0;
  const Day from = day_part(before ? last.ranges[0].lo : last.ranges[0].hi);
  const int step = before ? -1 : 1;
  const bool weekend = std::string_view(last.name) == "weekend";
  const Unit unit = !one                         ? day ? Unit::day : static_cast<Unit>(t_[j].value)
                                            : weekend ? Unit::weekend
                    : last.grain == Grain::week  ? Unit::week
                    : last.grain == Grain::month ? Unit::month
                    : last.grain == Grain::day   ? Unit::day
                                                 : Unit::second;
  Period p;
  switch (unit) {
    case Unit::day: {
      Day d = from + step;
      while (day && weekday_of(d) != t_[j].value) d += step;
      p = Period::days(d, d, Grain::day, "beside");
      break;
    }
    case Unit::week:
      p = Period::days(week_begin(from) + 7 * step, week_begin(from) + 7 * step + 6, Grain::week, "beside");
      break;
    case Unit::weekend:
      p = Period::days(week_begin(from) + 7 * step + 5, week_begin(from) + 7 * step + 6, Grain::week, "beside");
      break;
    case Unit::month:
      p = Period::days(add_months(month_begin(from), step), add_months(month_begin(from), step + 1) - 1, Grain::month,
                       "beside");
      break;
    default:
      return 0;
  }
  out = from_period(p);
  return sentence_end(j + 2) ? j + 2 : j + 3;
}

void TimeParser::take_back(const TimeConstraint& better) {
  if (out_.constraints.empty()) return;
  const TimeConstraint& last = out_.constraints.back();
  if (last.axis != better.axis || better.anchor) return;
  out_.notes.push_back(fmt::format("'{}' is taken back for '{}'", text_.substr(last.begin, last.end - last.begin),
                                   text_.substr(better.begin, better.end - better.begin)));
  out_.constraints.pop_back();
}

// "neither Monday nor Tuesday last week": the week is that of the question, the days are taken from it.
void TimeParser::frame_neither() {
  std::vector<TimeConstraint>& all = out_.constraints;
  if (!std::ranges::all_of(all, [](const TimeConstraint& c) { return c.join == TimeJoin::except; })) return;
  // Also of "all but Monday last week": an exception needs something that it is taken from.
  const auto day = std::ranges::find_if(all, [](const TimeConstraint& c) {
    return c.name == std::string_view(kDayOfNamedWeek) && c.ranges.size() == 1;
  });
  if (day == all.end()) return;
  const Day monday = week_begin(day_part(day->ranges[0].lo));
  TimeConstraint week = from_period(Period::days(monday, monday + 6, Grain::week, "week-of"));
  week.begin = day->begin, week.end = day->end;
  all.insert(all.begin(), std::move(week));
}

// "the first chats of May and July", "our last chats of 2022 and 2023": one of each time.
void TimeParser::one_of_each() {
  std::vector<TimeConstraint>& all = out_.constraints;
  if (all.size() != 2 || all[0].axis != Axis::session || !all[0].counted || all[0].anchor ||
      all[0].ranges.size() != 1 || all[1].axis != Axis::date || all[1].join != TimeJoin::meet ||
      all[1].ranges.size() < 2)
    return;
  const auto noun = std::ranges::find(t_, all[0].end, &Token::end);
  if (noun == t_.end() || !noun->plural) return;
  const TimeConstraint chats = all[0], times = all[1];
  all.clear();
  for (const TimeRange& r : times.ranges) {
    all.push_back(chats);
    if (all.size() > 1) all.back().join = TimeJoin::unite;
    all.push_back(times), all.back().ranges = {r};
  }
}

namespace {

// "last week from Monday to Tuesday and from Thursday to Friday": of that week.
void settle_weekdays(TimeConstraint& c, const TimeQuery& q) {
  for (const TimeConstraint& frame : q.constraints) {
    if (&frame == &c || frame.axis != Axis::date || frame.grain != Grain::week || frame.ranges.size() != 1 ||
        frame.anchor || frame.ranges[0].hi - frame.ranges[0].lo != 7 * kDaySeconds - 1)
      continue;
    for (TimeRange& r : c.ranges) {
      const int64_t monday = week_begin(day_part(r.lo)) * kDaySeconds, moved = frame.ranges[0].lo - monday;
      if (r.hi - monday < 7 * kDaySeconds) r = {r.lo + moved, r.hi + moved};
    }
  }
}

}  // namespace

// "in February except on the 14th": of that month; "last week but not on Tuesday": of that week.
void settle_frames(TimeQuery& q) {
  auto alternatives = [&](const TimeConstraint& a, const TimeConstraint& b) {
    if (a.join == TimeJoin::except || b.join == TimeJoin::except) return false;
    const TimeConstraint *from = std::min(&a, &b), *to = std::max(&a, &b);
    return std::any_of(from + 1, to + 1, [](const TimeConstraint& c) { return c.join == TimeJoin::unite; });
  };
  for (TimeConstraint& c : q.constraints) {
    const bool weekend = c.join == TimeJoin::except && c.axis == Axis::date && std::string_view(c.name) == "weekend";
    for (const TimeConstraint& frame : q.constraints)
      if (weekend && &frame != &c && frame.axis == Axis::date && !frame.ranges.empty() && !frame.anchor &&
          frame.ranges[0].hi - frame.ranges[0].lo > 14 * kDaySeconds)  // "in April except the weekend": all of them
        c.axis = Axis::weekday, c.ranges = {{5, 6}};
      else if (weekend && &frame != &c && frame.axis == Axis::date && frame.ranges.size() == 1 && !frame.anchor &&
               frame.grain == Grain::week && frame.ranges[0].hi - frame.ranges[0].lo == 7 * kDaySeconds - 1)
        c.ranges = {{frame.ranges[0].lo + 5 * kDaySeconds, frame.ranges[0].hi}};  // "last week minus the weekend"
    // "in April except Monday": every Monday of it
    if (c.join == TimeJoin::except && c.axis == Axis::date && c.rule == TimeRule::named_day && c.ranges.size() == 1)
      for (const TimeConstraint& frame : q.constraints)
        if (&frame != &c && frame.join != TimeJoin::except && frame.axis == Axis::date && frame.ranges.size() == 1 &&
            !frame.anchor && frame.ranges[0].hi - frame.ranges[0].lo > 14 * kDaySeconds) {
          c.axis = Axis::weekday, c.rule = TimeRule::plain;
          c.ranges = {{weekday_of(day_part(c.ranges[0].lo)), weekday_of(day_part(c.ranges[0].lo))}};
          break;
        }
    if (c.axis == Axis::date && std::string_view(c.name) == kWeekdaySpan) settle_weekdays(c, q);
    if (c.axis != Axis::date || c.ranges.empty() || c.grain != Grain::day || c.anchor) continue;
    const bool list = c.ranges.size() > 1;  // "on Monday and Tuesday", "on the 14th and the 15th"
    const bool day = std::string_view(c.name) == "day-of-month",
               weekday = c.rule == TimeRule::named_day || (list && std::string_view(c.name) == "named-day");
    if (!day && !weekday) continue;
    for (const TimeConstraint& frame : q.constraints) {
      if (&frame == &c || frame.axis != Axis::date || frame.ranges.size() != 1 || frame.anchor ||
          alternatives(c, frame))
        continue;
      const Day lo = day_part(frame.ranges[0].lo), hi = day_part(frame.ranges[0].hi);
      for (TimeRange& r : c.ranges) {
        const Day mine = day_part(r.lo);
        Day d = 0;
        if (day && frame.grain == Grain::month && hi - lo < 31)
          d = lo + civil(mine).day - 1;
        else if (weekday && frame.grain == Grain::week && hi - lo == 6)
          d = lo + (weekday_of(mine) - weekday_of(lo) + 7) % 7;
        else
          continue;
        if (d >= lo && d <= hi) r = {d * kDaySeconds, (d + int64_t{1}) * kDaySeconds - 1}, c.rule = TimeRule::plain;
      }
    }
  }
}

// Fits the constraint in: merged with the one before, another alternative, or one that must hold too.
void TimeParser::join_in(TimeConstraint&& c, Between between) {
  const bool unite = between == Between::unites;
  std::vector<TimeConstraint>& all = out_.constraints;
  TimeConstraint* last = all.empty() ? nullptr : &all.back();
  if (c.join == TimeJoin::except || !unite || !last || last->join == TimeJoin::except) {
    // "not on Monday or Tuesday" is both; "not in March, in February" is not
    const bool conjoined = unite && last && last->join == TimeJoin::except && c.axis == last->axis && conjoined_;
    if (conjoined) c.join = TimeJoin::except;
    all.push_back(std::move(c));
    return;
  }
  const bool plain = !c.anchor && !last->anchor && !c.ranges.empty() && !last->ranges.empty();
  const bool counted_alike =
      c.from_end == last->from_end && c.counted == last->counted && c.numbered == last->numbered;
  if (c.axis == last->axis && plain && counted_alike && std::string_view(c.name) != "session-beside-date") {
    const bool overlap =
        c.axis == Axis::date && std::any_of(c.ranges.begin(), c.ranges.end(), [&](const TimeRange& a) {
          return std::any_of(last->ranges.begin(), last->ranges.end(),
                             [&](const TimeRange& b) { return a.lo <= b.hi && b.lo <= a.hi; });
        });
    if (!overlap) {
      last->ranges.insert(last->ranges.end(), c.ranges.begin(), c.ranges.end());
      last->rule = TimeRule::plain, last->absolute &= c.absolute, last->end = c.end;
      return;
    }
  }
  if (c.axis == Axis::session || c.axis == Axis::response) {
    const bool counts = c.axis == Axis::session || last->axis == Axis::response;
    const bool has_own =
        std::any_of(all.begin(), all.end(), [&](const TimeConstraint& x) { return x.axis == c.axis; });
    if (counts && has_own) c.join = TimeJoin::unite;
  }
  all.push_back(std::move(c));
}

}  // namespace quern::memory
