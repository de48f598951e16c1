// Prepositions applied to periods: "between … and …", "since …", "until …", lists ("in May and July"). Also the scan of
// the question that collects constraints.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "quern/memory/time/time_parser.h"

namespace quern::memory {
namespace {

// "What did we go through this year?": the verb's own preposition, not the end of a span.
bool goes_through(std::string_view word) {
  static constexpr std::string_view verbs[] = {"go",      "goes",    "going",   "gone",    "went",   "work", "works",
                                               "worked",  "walk",    "walked",  "talk",    "talked", "run",  "ran",
                                               "running", "working", "talking", "walking", "take",   "took", "taken",
                                               "been",    "me",      "us",      "you",     "them",   "it"};
  return std::find(std::begin(verbs), std::end(verbs), word) != std::end(verbs);
}

}  // namespace

size_t TimeParser::period(size_t i, Period& out, int depth) const {
  ++tries_;
  if (i >= n_ || depth > 3) return 0;
  size_t best = 0;
  auto offer = [&](size_t end, const Period& p) {
    if (end > best) best = end, out = p;
  };
  Period p;
  auto attempt = [&](size_t end) {
    if (end) offer(end, p);
    p = Period();
  };
  attempt(beside_period(i, p, depth));
  attempt(part_of_period(i, p, depth));
  attempt(week_of(i, p, depth));
  attempt(part_of_day(i, p, depth));
  attempt(night_between(i, p));
  attempt(day_word(i, p));
  attempt(before_last(i, p));
  attempt(ago(i, p));
  attempt(this_or_last_unit(i, p));
  attempt(named_day(i, p));
  attempt(part_of_named_week(i, p));
  attempt(weeks_before_named(i, p));
  attempt(part_of_dated_day(i, p));
  attempt(midweek(i, p));
  attempt(named_relative(i, p));
  attempt(calendar_date(i, p));
  attempt(holiday(i, p));
  attempt(season(i, p));
  attempt(quarter(i, p));
  attempt(numbered_week(i, p));
  attempt(plain_year(i, p));
  attempt(day_of_month(i, p));
  if (!best && (is(i, Word::the))) {  // "the month of May", "the year 2022"
    if (is_unit(i + 1, Unit::month) && is(i + 2, Word::of)) attempt(calendar_date(i + 3, p));
    if (!best && (month_here(i + 1) || is(i + 1, Lex::date))) attempt(calendar_date(i + 1, p));
  }
  if (!best && is_unit(i, Unit::month) && is(i + 1, Word::of)) attempt(calendar_date(i + 2, p));
  return best ? with_part(best, out) : 0;
}

// "to", "up to", "through", a dash; "and" after "between"
size_t TimeParser::range_separator(size_t k, Word opening) const {
  const bool between = opening == Word::between, from = opening == Word::from;
  if (is(k, Word::up) && (is(k + 1, Word::to) || is(k + 1, Word::until) || is(k + 1, Word::through))) return k + 2;
  if (is(k, Word::to) || is(k, Word::through) || is(k, Word::until)) return k + 1;
  if (is(k, Word::and_) && between && !differing_ && !comparing_) return k + 1;
  if (is(k, Word::and_) && from && (is(k + 1, Word::until) || is(k + 1, Word::to) || is(k + 1, Word::through)))
    return k + 2;
  if (dash(k)) return k;
  return 0;
}

void TimeParser::range_end(size_t k, RangeEnd& e) const {
  if (is(k, Word::on) || is(k, Word::in)) ++k;
  e.after_date = partial(k, e.date);
  e.after_day = day_number(skip(k, Word::the), e.day);
  if (e.after_day && (is(e.after_day, Lex::session) || is(e.after_day, Lex::unit) || is(e.after_day, Lex::response)))
    e.after_day = 0;
  e.after_period = period(k, e.period, 1);
}

// From x to y; what one of them leaves out (month, year) comes from the other.
Period TimeParser::date_span(PartialDate x, PartialDate y) const {
  if (y.month == 0) y.month = x.month;
  if (x.month == 0) x.month = y.month;
  if (y.year == 0 && x.year != 0) {
    y.year = x.year;
    if (std::pair(y.month, y.day ? y.day : 31) < std::pair(x.month, x.day)) ++y.year;
  }
  const Period hi = resolve(y);
  if (x.year == 0 && !hi.impossible) {
    x.year = civil(hi.last()).year;
    if (std::pair(x.month, x.day) > std::pair(civil(hi.last()).month, civil(hi.last()).day)) --x.year;
  }
  const Period lo = resolve(x);
  Period out = lo;
  out.hi = hi.hi;
  out.absolute = true, out.impossible = lo.impossible || hi.impossible || out.lo > out.hi, out.name = "date-span";
  out.grain = Grain::week;
  return out;
}

// FROM date TO date, of which the first is a date, a bare day, or another period.
size_t TimeParser::range(size_t i, Period& out) const {
  size_t j = i;
  const Word opening = is(j, Word::between) ? Word::between : is(j, Word::from) ? Word::from : Word::over;
  if (opening != Word::over || is(j, Word::over) || is(j, Word::in) || is(j, Word::on) || is(j, Word::around)) ++j;
  while (is(j, Word::in) || (opening == Word::between && is(j, Word::on))) ++j;
  PartialDate a;
  int day_a = 0;
  RangeEnd b;
  const size_t left = partial(j, a), day = day_number(skip(j, Word::the), day_a),
               bare = day && day != left && range_separator(day, opening) ? day : 0;
  if (bare) {
    range_end(range_separator(bare, opening), b);
    if (b.after_date && b.date.month && b.date.day) {
      out = date_span({0, 0, day_a}, b.date);
      return b.after_date;
    }
  }
  if (const size_t sep = left ? range_separator(left, opening) : 0) {
    range_end(sep, b);
    if (b.after_date && b.after_date >= b.after_period) {
      out = date_span(a, b.date);
      return b.after_date;
    }
    if (b.after_day && a.day && !b.after_period) {
      out = date_span(a, {0, 0, b.day});
      return b.after_day;
    }
  }
  return period_range(j, opening, b, out);
}

// "last Monday to Wednesday", "from May until now"
size_t TimeParser::period_range(size_t j, Word opening, RangeEnd& b, Period& out) const {
  Period from;
  const size_t left = period(j, from, 1);
  if (!left || from.impossible) return 0;
  const size_t sep = range_separator(left, opening);
  if (!sep) return 0;
  if ((is(sep, Word::now) || said(sep, "date")) && from.hi <= clock_.now) {
    out = from, out.hi = clock_.now, out.name = "date-span";
    return sep + 1;
  }
  range_end(sep, b);
  Period& to = b.period;
  if (b.after_period && !to.impossible)
    share_span_year({.first = j, .left = left, .sep = sep, .end = b.after_period}, from, to);
  const auto of_month = [](const Period& p) { return p.name == std::string_view("day-of-month"); };
  if (b.after_period && of_month(from) && of_month(to) &&
      to.hi < from.lo) {  // "the 10th to the 15th", asked on the 12th
    const Day earlier = add_months(from.first(), -1);
    from = Period::days(earlier, earlier, Grain::day, from.name);
  }
  const bool named = from.rule == TimeRule::named_day || weekday_here(j);
  if (b.after_period && named && to.hi < from.lo && to.first() == to.last())  // Monday to Wednesday of last week
    while (from.lo > to.lo) from.lo -= 7 * kDaySeconds, from.hi -= 7 * kDaySeconds;
  if (!b.after_period || to.impossible || to.hi < from.lo) return 0;
  out = from;
  const bool weekdays =
      from.rule == TimeRule::named_day && to.rule == TimeRule::named_day && to.hi - from.lo < 7 * kDaySeconds;
  out.hi = to.hi, out.absolute = from.absolute && to.absolute, out.name = weekdays ? kWeekdaySpan : "date-span",
  out.rule = TimeRule::plain;
  out.grain = Grain::week;
  return b.after_period;
}

TimeConstraint TimeParser::from_period(const Period& p) const {
  TimeConstraint c;
  c.axis = Axis::date;
  if (p.name == std::string_view(kWeekendsBack))
    for (int64_t lo = p.lo; lo < p.hi; lo += 7 * kDaySeconds) c.ranges.push_back({lo, lo + 2 * kDaySeconds - 1});
  else if (!p.impossible)
    c.ranges.push_back({p.lo, p.hi});
  c.grain = p.grain, c.rule = p.rule, c.argument = p.argument, c.absolute = p.absolute, c.soft = p.soft,
  c.year_said = p.year_said, c.name = p.name;
  return c;
}

// Which end of the range a clause leaves open by its first words; moves j behind them.
TimeParser::RangeOpening TimeParser::range_opening(size_t i, size_t& j) const {
  RangeOpening open = RangeOpening::none;
  if ((is(j, Word::number) || is(j, Word::not_)) && (is(j + 1, Word::earlier) || is(j + 1, Word::later)) &&
      said(j + 2, "than")) {
    open = is(j + 1, Word::earlier) ? RangeOpening::since : RangeOpening::until;
    j += 3;
  } else if (is(j, Word::not_) && (is(j + 1, Word::before) || is(j + 1, Word::after))) {
    open = is(j + 1, Word::before) ? RangeOpening::since : RangeOpening::until;
    j += 2;
  } else if (said(j, "post") || said(j, "pre") ||
             (is(j, Word::past) && is(j + 1, Lex::month) && is(j + 2, Lex::number))) {
    open = said(j, "pre") ? RangeOpening::before : RangeOpening::after;
    ++j;
  } else if ((is(j, Word::earlier) || is(j, Word::later)) && said(j + 1, "than")) {
    open = is(j, Word::earlier) ? RangeOpening::before : RangeOpening::after;
    j += 2;
  } else if ((said(j, "older") || said(j, "newer")) && said(j + 1, "than")) {
    open = said(j, "older") ? RangeOpening::before : RangeOpening::after;
    j += 2;
  } else if (is(j, Word::as) && is(j + 1, Word::of)) {
    j += 2, open = RangeOpening::since;
  } else if (is(j, Word::starting) || (is(j, Word::begin) && !is(j + 1, Word::of))) {
    ++j;
    if (is(j, Word::from) || is(j, Word::on) || is(j, Word::in) || said(j, "with")) ++j;
    open = RangeOpening::since;
  } else if (is(j, Word::since)) {
    ++j, open = RangeOpening::since;
  } else if (is(j, Word::after)) {
    ++j, open = RangeOpening::after;
  } else if (is(j, Word::before) || (is(j, Word::previous) && is(j + 1, Word::to))) {
    j += is(j, Word::before) ? 1 : 2, open = RangeOpening::before;
  } else if (is(j, Word::until)) {
    ++j, open = RangeOpening::until;
  } else if (is(j, Word::up) && (is(j + 1, Word::to) || is(j + 1, Word::until) || is(j + 1, Word::through))) {
    j += 2, open = RangeOpening::until;
    if (is(j, Word::and_)) ++j;  // up to and including
    if (said(j, "including")) ++j;
  } else if (is(j, Word::through) && (j == 0 || !goes_through(w_.spelling(j - 1)))) {
    ++j, open = RangeOpening::until;
  } else {
    if (is(j, Word::by) || is(j, Word::in) || is(j, Word::on) || is(j, Word::at) || is(j, Word::over) ||
        is(j, Word::around) || is(j, Word::from) || is(j, Word::through))
      ++j;
    if (is(j, Word::back) && j == i) {
      ++j;
      if (is(j, Word::in) || is(j, Word::on)) ++j;
    }
    if (j == i + 1 && is(i, Word::in) && is(j, Word::back)) ++j;
  }
  return open;
}

// "from May 8th on", "May 8th onwards": behind those words; `end` where there are none
size_t TimeParser::onward(size_t i, size_t end) const {
  if (is(end, Word::onward) || (is(end, Word::on) && is(end + 1, Word::onward)) ||
      (is(end, Word::and_) && (is(end + 1, Word::onward) || is(end + 1, Word::after) || said(end + 1, "beyond"))) ||
      (is(end, Word::on) && is(i, Word::from) && sentence_end(end + 1)) ||
      (is(end, Word::or_) && is(end + 1, Word::later)))
    end += is(end, Word::and_) || is(end, Word::or_) || (is(end, Word::on) && is(end + 1, Word::onward)) ? 2 : 1;
  return end;
}

// "in May and July", "on May 8th or 9 June": what follows the first
size_t TimeParser::more_periods(size_t begin, size_t end, TimeConstraint& out) {
  std::vector<size_t> places = {begin};
  bool dated = names_year(begin, end);
  const size_t first_end = end;
  while ((is(end, Word::and_) || is(end, Word::or_) || (end < n_ && t_[end].before == ',')) && !out.ranges.empty()) {
    size_t k = is(end, Word::and_) || is(end, Word::or_) ? end + 1 : end;
    if (k == end && excepting_ && preposition(k)) break;  // "not in March, in February"
    if (is(k, Word::and_) || is(k, Word::or_)) ++k;
    if (is(k, Word::in) || is(k, Word::on) || is(k, Word::over)) ++k;
    if (const size_t more = in_year_too(begin, first_end, k, out)) {
      end = more;
      continue;
    }
    Period q;
    const size_t more = period(k, q);
    if (more && excepted_behind(more)) break;  // "the last 5 days, Tuesday excluded"
    if (!more || q.impossible || q.grain != out.grain) break;
    const bool of_year = names_year(k, more), bare = lacks_year(k, more);
    const bool shared = of_year && !dated && places.size() < kLongestList && lacks_year(begin, first_end);
    if (q.absolute != out.absolute && !shared) break;
    if (shared) share_list_year(civil(q.first()).year, places, out), out.absolute = q.absolute, dated = true;
    if (bare && dated && out.ranges.size() == 1 && names_year(begin, first_end)) {  // "in March 2022 and May"
      const int year = civil(day_part(out.ranges[0].lo)).year;
      Period same;
      if (period_by(day_of(year, 12, 31), k, same) == more && civil(same.first()).year == year && same.lo != q.lo) {
        out_.notes.push_back(
            fmt::format("'{}' is taken as of {}", text_.substr(t_[k].begin, t_[more - 1].end - t_[k].begin), year));
        q = same;
      }
    }
    places.push_back(k);
    if (out.name == std::string_view(kDayOfNamedWeek) && q.rule == TimeRule::named_day) {
      // "last week on Monday and Wednesday"
      const Day d = week_begin(day_part(out.ranges[0].lo)) + weekday_of(q.first());
      q = Period::days(d, d, Grain::day, kDayOfNamedWeek);
    }
    if (q.name == std::string_view(kDayOfNamedWeek) && out.rule == TimeRule::named_day)
      for (TimeRange& r : out.ranges) {  // "on Wednesday and Friday last week"
        const Day d = week_begin(q.first()) + weekday_of(day_part(r.lo));
        r = {d * kDaySeconds, (d + int64_t{1}) * kDaySeconds - 1};
      }
    // "July 3rd, 2023" was taken whole; "the first session, May 8" is not a list of dates.
    out.ranges.push_back({q.lo, q.hi});
    out.rule = TimeRule::plain, end = more;
  }
  return end;
}

size_t TimeParser::date_clause(size_t i, TimeConstraint& out) {
  Period p;
  auto refuse_impossible = [&](size_t from, size_t end) {
    if (p.impossible)
      out_.notes.push_back(
          fmt::format("there is no such date: {}", text_.substr(t_[from].begin, t_[end - 1].end - t_[from].begin)));
  };
  // "Tuesday, May 20" of a year in which that is a Monday: the date counts
  auto compare_weekday = [&](size_t from, size_t end) {
    if (p.impossible || p.grain != Grain::day || !p.absolute || p.name != std::string_view("date")) return;
    for (size_t k = from; k < end; ++k)
      if (weekday_here(k) && !t_[k].plural && t_[k].value != weekday_of(p.first()))
        out_.notes.push_back(fmt::format("{} is not a {}: the date counts", time_text(p.lo).substr(0, 10),
                                         text_.substr(t_[k].begin, t_[k].end - t_[k].begin)));
  };
  if (const size_t end = range(i, p)) {
    out = from_period(p);
    refuse_impossible(i, end);
    return end;
  }
  size_t j = i;
  if (const size_t end = date_list(i, out)) return end;
  if (const size_t end = counted_list(i, out)) return end;
  RangeOpening open = range_opening(i, j);
  size_t end = period(j, p);
  if (!end && j > i && open == RangeOpening::none) {
    j = i;
    end = period(j, p);
  }
  if (!end) return 0;
  out = from_period(p);
  refuse_impossible(j, end), compare_weekday(j, end);
  if (open == RangeOpening::none && j > i && is(i, Word::by)) open = RangeOpening::until;
  if (const size_t behind = onward(i, end); behind > end) end = behind, open = RangeOpening::since;
  if (is(end, Word::or_) && (is(end + 1, Word::earlier) || (is(end + 1, Word::before) && sentence_end(end + 2))))
    end += 2, open = RangeOpening::until;
  if (open == RangeOpening::none || out.ranges.empty()) return more_periods(j, end, out);
  TimeRange& r = out.ranges[0];
  switch (open) {
    case RangeOpening::since:
      r.hi = kNoEnd;
      break;
    case RangeOpening::after:
      r = {r.hi + 1, kNoEnd};
      break;
    case RangeOpening::before:
      r = {kNoBegin, r.lo - 1};
      break;
    case RangeOpening::until:
      r.lo = kNoBegin;
      break;
    case RangeOpening::none:
      break;
  }
  out.rule = TimeRule::plain, out.name = "open-span";
  return end;
}

size_t TimeParser::clause(size_t i, TimeConstraint& out) {
  size_t best = 0;
  auto offer = [&](size_t end, TimeConstraint&& c) {
    if (end > best) best = end, out = std::move(c);
  };
  TimeConstraint c;
  auto attempt = [&](size_t end) {
    if (end) offer(end, std::move(c));
    c = TimeConstraint();
  };
  attempt(excepted_places(i, c));
  attempt(session_clause(i, c));
  attempt(response_clause(i, c));
  attempt(recurring(i, c));
  attempt(clock_clause(i, c));
  attempt(date_beside_anchor(i, c));
  attempt(vague(i, c));
  attempt(days_apart(i, c));
  attempt(each_ago(i, c));
  attempt(same_month_back(i, c));
  attempt(same_day_back(i, c));
  const size_t notes = out_.notes.size();
  const size_t end = date_clause(i, c);
  if (end <= best) out_.notes.resize(notes);
  attempt(end);
  return best;
}

// Introduced by "as mentioned on", "according to the conversation on".
bool TimeParser::mentioned(size_t i) const {
  for (size_t back = i; back > 0 && i - back < 4 && !t_[back].starts;) {
    --back;
    if (is(back, Word::mention) || is(back, Word::talk) || (is(back, Lex::session) && t_[back].value == 0))
      return true;
    if (!preposition(back) && !is(back, Word::as) && !is(back, Word::the)) break;
  }
  return false;
}

// "next week", "tomorrow": nothing was said then, unless it is what the talk was about ("our plans for next week").
bool TimeParser::ahead(const TimeConstraint& c, size_t i) {
  const bool next = c.axis == Axis::date && c.name == std::string_view("next");
  const bool later = c.axis == Axis::date && !c.ranges.empty() && c.ranges[0].lo > clock_.now;
  if (!next && !later) return false;
  const std::string_view said_so = text_.substr(c.begin, c.end - c.begin);
  const bool subject = i > 0 && (said(i - 1, "for") || said(i - 1, "about") || said(i - 1, "regarding"));
  ahead_of_now_ |= !subject;
  out_.notes.push_back(subject ? fmt::format("'{}' lies ahead of now and restricts nothing", said_so)
                               : fmt::format("'{}' lies ahead of now", said_so));
  return true;
}

// "In the first session, what sport did he say he had recently joined?": what was said happened then.
void TimeParser::drop_vague() {
  auto is_vague = [](const TimeConstraint& c) { return std::string_view(c.name) == "vague"; };
  const bool exact = std::any_of(out_.constraints.begin(), out_.constraints.end(), [&](const TimeConstraint& c) {
    return !is_vague(c) && c.join != TimeJoin::except && (c.axis == Axis::date || c.axis == Axis::session);
  });
  if (exact) std::erase_if(out_.constraints, is_vague);
}

TimeQuery TimeParser::run() {
  std::vector<uint8_t> used(n_, 0);
  size_t last_begin = 0, last_end = SIZE_MAX, except_until = 0, except_from = 0, except_behind = 0;
  for (size_t i = 0; i < n_;) {
    TimeConstraint c;
    excepting_ = i < except_until;
    size_t end = contrasted(i, c);
    if (!end) end = clause(i, c);
    if (const size_t behind = end && is(i, Word::not_) ? 0 : exception_word(i); behind && !end) {
      // what is taken away follows, at once or behind a small word
      except_until = behind + 5, except_from = i, except_behind = behind;
      std::fill(used.begin() + static_cast<std::ptrdiff_t>(i), used.begin() + static_cast<std::ptrdiff_t>(behind), 2);
      i = behind;
      continue;
    }
    if (!end) {
      ++i;
      continue;
    }
    c.begin = t_[i].begin, c.end = t_[end - 1].end;
    c.mention = mentioned(i);
    if (std::string_view(c.name) == "clock-bare" && !c.ranges.empty() && c.axis == Axis::date)
      out_.notes.push_back(fmt::format("'{}' is taken as {} to {}", text_.substr(c.begin, c.end - c.begin),
                                       clock_text(second_part(c.ranges[0].lo)),
                                       clock_text(second_part(c.ranges[0].hi))));
    std::fill(used.begin() + static_cast<std::ptrdiff_t>(i), used.begin() + static_cast<std::ptrdiff_t>(end), 1);
    if (i < except_until && !small_words(except_behind, i)) except_until = 0;  // "except Ada's turns on March 5"
    if (const size_t behind = excepted_behind(end); behind && i >= except_until && !out_.constraints.empty()) {
      std::fill(used.begin() + static_cast<std::ptrdiff_t>(end), used.begin() + static_cast<std::ptrdiff_t>(behind),
                1);
      read_in_frame(i, end, FrameOf::excepted, c);
      c.join = TimeJoin::except, c.end = t_[behind - 1].end, end = behind;
      out_.constraints.push_back(std::move(c));
    } else if (i < except_until) {
      read_in_frame(i, end, FrameOf::excepted, c);
      if (c.rule == TimeRule::named_day && (is(i, Word::last) || is(i + 1, Word::last)))
        c.rule = TimeRule::plain;  // "except last Friday": that one alone
      c.join = TimeJoin::except, except_until = 0, c.begin = t_[except_from].begin;
      for (uint8_t& u : used)
        if (u == 2) u = 1;
      out_.constraints.push_back(std::move(c));
    } else if (!ahead(c, i)) {
      if (last_end != SIZE_MAX && corrected(last_end, i)) take_back(c);
      const bool unites = last_end != SIZE_MAX && united(last_end, is(i, Word::from) || is(i, Word::to) ? i + 1 : i);
      if (unites)
        share_united_year({.first = last_begin, .left = last_end, .sep = i, .end = end}, c);
      else
        read_in_frame(i, end, FrameOf::held, c);
      join_in(std::move(c), unites ? Between::unites : Between::nothing);
    }
    last_begin = i, last_end = end, i = end;
  }
  drop_vague();
  one_of_each();
  settle_hours();
  frame_neither();
  settle_frames(out_);
  if (ahead_of_now_ && out_.constraints.empty()) {
    out_.constraints.emplace_back();
    out_.constraints.back().nothing = true;
  }
  leftover(used);
  out_.tries = tries_;
  return std::move(out_);
}

TimeQuery parse_time(std::string_view text, const TimeWords& words, const Clock& clock) {
  return TimeParser(text, words, clock).run();
}

TimeQuery parse_time(std::string_view text, const Clock& clock) {
  return parse_time(text, time_words(text, clock.order), clock);
}

}  // namespace quern::memory
