// Times that are not said exactly, each with a note of what it was taken for: "the other day", "lately", "a few weeks
// ago", "a while back". Also spans of distances: "three to five days ago", "more than a month ago".
#include <fmt/format.h>

#include <algorithm>

#include "quern/memory/time/time_parser.h"

namespace quern::memory {
namespace {

struct VagueTime {
  std::string_view words;
  int from, to;  // days ago
};
constexpr VagueTime kVague[] = {{"the other day", 7, 2},
                                {"other day", 7, 2},
                                {"the other night", 7, 2},
                                {"the other week", 21, 7},
                                {"the other evening", 7, 2},
                                {"the other morning", 7, 2},
                                {"recently", 14, 0},
                                {"lately", 14, 0},
                                {"of late", 14, 0},
                                {"these days", 14, 0},
                                {"as of late", 14, 0},
                                {"in recent days", 7, 0},
                                {"the last while", 30, 0},
                                {"in recent weeks", 35, 0},
                                {"recent days", 7, 0},
                                {"recent weeks", 35, 0},
                                {"recent months", 155, 0},
                                {"the past few days", 5, 0},
                                {"a while ago", 180, 14},
                                {"a while back", 180, 14},
                                {"some time ago", 180, 14},
                                {"sometime ago", 180, 14},
                                {"ages ago", 3650, 180},
                                {"a long time ago", 3650, 180},
                                {"not long ago", 21, 1},
                                {"a short while ago", 3, 0},
                                {"a little while ago", 21, 1},
                                {"a long while ago", 3650, 180},
                                {"long ago", 3650, 180},
                                {"the last little while", 21, 0},
                                {"a day or two ago", 2, 1},
                                {"a week or two ago", 20, 7},
                                {"a month or two ago", 62, 30},
                                {"in the last little while", 21, 0}};

// "recently" is one of "the most recently", "how recently", and "late of" of nothing.
bool asked_of(std::string_view before) { return before == "most" || before == "how" || before == "more"; }

}  // namespace

size_t TimeParser::vague(size_t i, TimeConstraint& out) {
  auto set = [&](size_t end, Day lo, Day hi) {
    out = from_period(Period::days(lo, hi, Grain::week, "vague"));
    if (hi >= today_) out.ranges[0].hi = clock_.now;
    out_.notes.push_back(fmt::format("'{}' is taken as {} to {}",
                                     text_.substr(t_[i].begin, t_[end - 1].end - t_[i].begin), date_text(lo),
                                     date_text(std::min(hi, today_))));
    return end;
  };
  if (i > 0 && asked_of(w_.spelling(i - 1))) return 0;
  for (const VagueTime& v : kVague)
    if (const size_t end = phrase(i, v.words)) return set(end, today_ - v.from, today_ - v.to);
  if (const size_t end = phrase(i, "a couple of days ago"); end || phrase(i, "a couple days ago")) {
    set(end ? end : phrase(i, "a couple days ago"), today_ - 2, today_ - 2);
    return end ? end : phrase(i, "a couple days ago");
  }
  // a few weeks ago, several months back, some days ago
  size_t j = skip(i, Word::a);
  const bool some = is(j, Word::few) || is(j, Word::several) || said(j, "some");
  if (!some) return 0;
  j = skip(j + 1, Word::of);
  if (!is(j, Lex::unit) || !t_[j].plural ||
      !(is(j + 1, Word::ago) || is(j + 1, Word::back) || is(j + 1, Word::earlier)))
    return 0;
  switch (static_cast<Unit>(t_[j].value)) {
    case Unit::day:
      return set(j + 2, today_ - 5, today_ - 2);
    case Unit::week:
      return set(j + 2, today_ - 35, today_ - 14);
    case Unit::month:
      return set(j + 2, add_months(today_, -5), add_months(today_, -2));
    case Unit::year:
      return set(j + 2, add_months(today_, -60), add_months(today_, -24));
    default:
      return 0;
  }
}

// "this day last month", "the same day last week", "today a year ago", "this time last year": the day itself
size_t TimeParser::same_day_back(size_t i, TimeConstraint& out) {
  size_t j = i;
  int64_t n = 1;
  Unit u = Unit::day;
  size_t end = 0;
  const bool today = is(j, Lex::day_word) && t_[j].value == 0;
  if (today) {
    const size_t k = count(j + 1, n);
    if (!k || !is(k, Lex::unit) || !is(k + 1, Word::ago)) return 0;
    u = static_cast<Unit>(t_[k].value), end = k + 2;
  } else {
    if (is(j, Word::on)) ++j;
    const bool same = is(j, Word::this_) || said(j, "same") || (is(j, Word::the) && said(j + 1, "same"));
    if (!same) return 0;
    j += is(j, Word::the) ? 2 : 1;
    if (!(is(j, Word::day) || said(j, "date") || said(j, "time")) || !is(j + 1, Word::last) || !is(j + 2, Lex::unit))
      return 0;
    u = static_cast<Unit>(t_[j + 2].value), end = j + 3;
    if (said(j, "time"))
      out_.notes.push_back(
          fmt::format("'{}' is taken as that day", text_.substr(t_[i].begin, t_[end - 1].end - t_[i].begin)));
  }
  if (u != Unit::week && u != Unit::month && u != Unit::year) return 0;
  const int64_t steps = std::min<int64_t>(n, 1000);
  const Day d = u == Unit::week ? today_ - static_cast<Day>(7 * steps)
                                : add_months(today_, -(u == Unit::month ? 1 : 12) * steps);
  out = from_period(Period::days(d, d, Grain::day, "ago"));
  return end;
}

// "three to five days ago", "between two and four weeks ago", "more than a month ago", "at most ten days ago"
size_t TimeParser::days_apart(size_t i, TimeConstraint& out) const {
  auto back = [&](Unit u, int64_t n) -> Day {
    const int64_t some = std::min<int64_t>(n, 100'000);
    switch (u) {
      case Unit::week:
        return today_ - static_cast<Day>(7 * some);
      case Unit::month:
        return add_months(today_, -some);
      case Unit::year:
        return add_months(today_, -12 * std::min<int64_t>(n, 300));
      default:
        return today_ - static_cast<Day>(some);
    }
  };
  auto unit_here = [&](size_t k) {
    return is(k, Lex::unit) && t_[k].value >= static_cast<int32_t>(Unit::day) &&
           t_[k].value <= static_cast<int32_t>(Unit::year) && t_[k].value != static_cast<int32_t>(Unit::weekend);
  };
  int64_t a = 0, b = 0;
  const bool starts = i < n_ && t_[i].starts;  // "what did we go over a week ago?" has another over
  const bool more = phrase(i, "more than") || (starts && phrase(i, "over")) || phrase(i, "longer than");
  const bool less = phrase(i, "less than") || phrase(i, "fewer than") || (starts && phrase(i, "under"));
  const bool least = phrase(i, "at least"), most = phrase(i, "at most");
  if (more || less || least || most) {
    const size_t n = phrase(i, "over") || phrase(i, "under") ? i + 1 : i + 2;
    const size_t k = count(n, a);
    if (!k || !unit_here(k) || !(is(k + 1, Word::ago) || is(k + 1, Word::back))) return 0;
    const Day d = back(static_cast<Unit>(t_[k].value), a);
    out = from_period(Period::days(d, d, Grain::week, "open-span"));
    const Day last = least ? d : d - 1, first = most ? d : d + 1;
    out.ranges = {more || least ? TimeRange{kNoBegin, (last + 1) * kDaySeconds - 1}
                                : TimeRange{first * kDaySeconds, clock_.now}};
    return k + 2;
  }
  const bool between = is(i, Word::between), from = is(i, Word::from);
  const size_t first = number(between || from ? i + 1 : i, a);
  if (!first) return 0;
  size_t k = first;
  if (unit_here(k)) ++k;  // "three days to two weeks ago"
  const size_t unit_at = k > first ? first : 0;
  if (is(k, Word::ago)) ++k;
  if (!(is(k, Word::to) || is(k, Word::until) || is(k, Word::through) || dash(k) ||
        ((is(k, Word::and_) || is(k, Word::or_)) && (between || (is(k, Word::or_) && unit_at)))))
    return 0;
  const size_t second = count(dash(k) && !is(k, Word::to) ? k : k + 1, b);
  if (!second || !unit_here(second) || !(is(second + 1, Word::ago) || is(second + 1, Word::back))) return 0;
  const Unit u = static_cast<Unit>(t_[second].value), v = unit_at ? static_cast<Unit>(t_[unit_at].value) : u;
  const Day x = back(v, a), y = back(u, b);
  out = from_period(Period::days(std::min(x, y), std::max(x, y), Grain::week, "date-span"));
  return second + 2;
}

// "in May and the same month last year", "this month and in the same month of last year"
size_t TimeParser::same_month_back(size_t i, TimeConstraint& out) const {
  size_t j = is(i, Word::in) || is(i, Word::over) ? i + 1 : i;
  j = skip(j, Word::the);
  if (!said(j, "same") || !(is_unit(j + 1, Unit::month) || is_unit(j + 1, Unit::quarter))) return 0;
  int y = 0;
  const size_t end = year(j + 2, y);
  if (!end) return 0;
  Day of = today_;
  if (!out_.constraints.empty()) {
    const TimeConstraint& last = out_.constraints.back();
    if (last.axis == Axis::date && last.ranges.size() == 1 && last.ranges[0].lo > kNoBegin && !last.anchor)
      of = day_part(last.ranges[0].lo);
  }
  const Civil c = civil(of);
  const bool month = is_unit(j + 1, Unit::month);
  const Day lo = day_of(y, month ? c.month : (c.month - 1) / 3 * 3 + 1, 1);
  out =
      from_period(Period::days(lo, add_months(lo, month ? 1 : 3) - 1, month ? Grain::month : Grain::season, "month"));
  out.absolute = true;
  return end;
}

// "two and three weeks ago", "one, three and five days ago": each of them
size_t TimeParser::each_ago(size_t i, TimeConstraint& out) const {
  std::vector<int64_t> all;
  size_t j = skip(i, Word::around);  // "talk about two and three weeks ago"
  int64_t v = 0;
  for (size_t k = number(j, v); k && all.size() < kLongestList; k = number(j, v)) {
    all.push_back(v), j = k;
    const bool comma = j < n_ && t_[j].before == ',';
    if (is(j, Word::and_) || is(j, Word::or_))
      ++j;
    else if (!comma)
      break;
  }
  if (all.size() < 2 || !is(j, Lex::unit) || !(is(j + 1, Word::ago) || is(j + 1, Word::back))) return 0;
  const bool fortnights = t_[j].value == -2;
  const Unit u = fortnights ? Unit::week : static_cast<Unit>(t_[j].value);
  if (u < Unit::day) return 0;
  for (const int64_t n : all) {
    const Period p = unit_around(u, fortnights ? 2 * n : n);
    out.ranges.push_back({p.lo, p.hi}), out.grain = p.grain;
  }
  out.axis = Axis::date, out.name = "ago";
  return j + 2;
}

// "What did Ada start with on Monday?", "How did Ada finish yesterday?": her first turn, her last.
size_t TimeParser::opened_with(size_t i, TimeConstraint& out) const {
  static constexpr std::string_view kOpening[] = {"start", "begin", "open"},
                                    kClosing[] = {"finish", "end", "close", "conclude"};
  const std::string_view w = i < n_ ? w_.spelling(i) : std::string_view();
  const bool first = std::find(std::begin(kOpening), std::end(kOpening), w) != std::end(kOpening);
  const bool last = std::find(std::begin(kClosing), std::end(kClosing), w) != std::end(kClosing);
  if ((!first && !last) || i < 2 || !said(i - 2, "did") || is(i - 1, Word::we) || said(i - 1, "it")) return 0;
  size_t j = i + 1;
  while (said(j, "off") || said(j, "out") || is(j, Word::up) || said(j, "with") || is(j, Word::by)) ++j;
  if (!sentence_end(j) && !preposition_of_time(j) && !is(j, Lex::day_word) && !is(j, Word::last) && !weekday_here(j))
    return 0;
  if (j == i + 1 && !said(0, "how")) return 0;  // "did the film end on Monday?"
  out.axis = Axis::response, out.name = "response", out.counted = true, out.from_end = last, out.ranges = {{1, 1}};
  return j;
}

bool TimeParser::preposition_of_time(size_t i) const {
  return is(i, Word::on) || is(i, Word::in) || is(i, Word::at) || is(i, Word::of) || is(i, Word::over);
}

// The first thing Ada said, the last three things they wrote: turns. "The last thing we talked about" is none.
size_t TimeParser::thing_said(size_t i, TimeConstraint& out) const {
  static constexpr std::string_view verbs[] = {
      "said",  "say",  "says", "wrote",  "write",  "came",  "reply",   "answer",    "ask",   "send",    "text",
      "spoke", "told", "sent", "posted", "texted", "typed", "written", "mentioned", "asked", "replied", "answered"};
  size_t j = i;
  while (is(j, Word::our) || is(j, Word::the) || is(j, Word::very)) ++j;
  int64_t v = 1;
  bool from_end = false;
  if (is(j, Word::last) || is(j, Word::past)) {
    from_end = true, ++j;
  } else if (is(j, Word::most) && is(j + 1, Word::recent)) {
    from_end = true, j += 2;
  } else {
    j = ordinal(j, v);
    if (!j) return 0;
  }
  // "what did I say last?"
  bool verb_before = false;  // "what did Ada say first on Monday?", "… said Ada last on Monday"
  for (size_t back = 1; back <= 2 && back <= i && !t_[i - back + 1].starts; ++back)
    verb_before |= std::find(std::begin(verbs), std::end(verbs), w_.spelling(i - back)) != std::end(verbs);
  if (verb_before && j == i + 1 &&
      (sentence_end(j) || preposition_of_time(j) || is(j, Lex::day_word) ||
       (!from_end && (is(j, Word::last) || is(j, Word::this_) || weekday_here(j))))) {
    out.axis = Axis::response, out.name = "response", out.counted = true, out.from_end = from_end;
    out.ranges = {{v, v}};
    return j;
  }
  // "what did Ada last say on Monday?", and not "when did Ada last say …"
  if ((from_end || is(j - 1, Word::first)) && j == i + 1 &&
      (said(j, "say") || said(j, "said") || said(j, "wrote") || said(j, "write") || said(j, "sent") ||
       said(j, "written") || said(j, "text"))) {
    for (size_t b = i; b > 0 && !t_[b].starts;)
      if (--b; said(b, "when") || said(b, "we")) return 0;
    out.axis = Axis::response, out.name = "response", out.counted = true, out.from_end = from_end;
    out.ranges = {{v, v}};
    return j + 1;
  }
  const bool nth = !from_end && v != 1;
  int64_t many = v;
  if (const size_t c = count(j, many); c && !is(j, Word::a) && !nth)
    j = c;
  else
    many = from_end ? 1 : v;
  if (!said(j, "thing") && !said(j, "things") && !said(j, "words") && !said(j, "word") && !said(j, "sentence") &&
      !said(j, "sentences") && !said(j, "remark") && !said(j, "line") && !said(j, "lines") && !said(j, "statement"))
    return 0;
  const size_t noun = j++;
  size_t k = is(j, Word::that) ? j + 1 : j;
  if (said(i, "first") && said(noun, "thing") && is(j, Word::in)) return 0;  // "first thing in the morning"
  const bool told = i > 0 && std::find(std::begin(verbs), std::end(verbs), w_.spelling(i - 1)) != std::end(verbs);
  const bool hers = i > 0 && w_.spelling(i - 1).ends_with("'s");  // "Ada's first words"
  if ((told || hers) &&
      (sentence_end(j) || preposition_of_time(j) || said(j, "what"))) {  // "Ada said the first sentence"
    out.axis = Axis::response, out.name = "response", out.counted = true, out.from_end = from_end;
    out.ranges = {nth ? TimeRange{v, v} : TimeRange{1, many}};
    return noun + 1;
  }
  for (size_t m = k; m < n_ && m < k + 9 && (m == k || !t_[m].starts); ++m)
    if (std::find(std::begin(verbs), std::end(verbs), w_.spelling(m)) != std::end(verbs)) {
      if (m > k && said(k, "we") && !said(m, "said") && !said(m, "wrote")) return 0;
      out.axis = Axis::response, out.name = "response", out.counted = true, out.from_end = from_end;
      out.ranges = {nth ? TimeRange{v, v} : TimeRange{1, many}};
      return noun + 1;
    }
  return 0;
}

}  // namespace quern::memory
