// Several sessions at once: "sessions 2 through 5", "our third and fifth conversations", "the third through the last
// session", "session 4 onward".
#include <algorithm>
#include <utility>
#include <vector>

#include "quern/memory/time/time_parser.h"

namespace quern::memory {

namespace {

void set_span(TimeConstraint& out, int64_t a, int64_t b) {
  out.axis = Axis::session, out.ranges = {{std::min(a, b), std::max(a, b)}}, out.name = "session-span";
}

}  // namespace

size_t TimeParser::session_range(size_t i, TimeConstraint& out) const {
  size_t j = i;
  const Word opening = is(j, Word::between) ? Word::between : is(j, Word::from) ? Word::from : Word::over;
  if (opening != Word::over || is(j, Word::over) || is(j, Word::in)) ++j;
  if (is(j, Word::over)) ++j;
  while (is(j, Word::our) || is(j, Word::the)) ++j;
  if (is(j, Lex::session) && t_[j].value == 0) return sessions_by_number(j, opening, out);
  if (const size_t span = sessions_by_ordinal(j, opening, out)) return span;
  return sessions_listed(j, out);
}

// "to", "up to", "through", a dash; "and" after "between" and "from"
size_t TimeParser::session_through(size_t k, Word opening) const {
  if (is(k, Word::up) && is(k + 1, Word::to)) return k + 2;
  if (is(k, Word::to) || is(k, Word::through) || is(k, Word::until) ||
      (is(k, Word::and_) && opening != Word::over && !differing_ && !comparing_))
    return k + 1;
  return dash(k) ? k : 0;
}

// sessions 2 through 5; session 2 to session 5; sessions 3, 5 and 7
size_t TimeParser::sessions_by_number(size_t j, Word opening, TimeConstraint& out) const {
  int64_t a = 0, b = 0;
  size_t k = j + 1;
  k = skip(k, Word::number);
  const size_t first = number(k, a);
  if (!first || is(first, Lex::session) || is(first, Lex::unit) || is(first, Word::ago)) return 0;
  if (t_[j].weak && !t_[j].plural && !t_[k].digits) return 0;
  if (t_[j].weak && !t_[j].plural && j > 0 && is(j - 1, Word::we)) return 0;
  auto second = [&](size_t m) {
    if (is(m, Lex::session)) ++m;
    m = skip(m, Word::number);
    return number(m, b);
  };
  if (const size_t t = session_through(first, opening))
    if (const size_t end = second(t); end && !is(end, Lex::unit)) {
      set_span(out, a, b);
      return end;
    }
  out.axis = Axis::session, out.ranges = {{a, a}}, out.name = "session-number";
  size_t end = first;
  for (size_t m = end; is(m, Word::and_) || is(m, Word::or_) || (m < n_ && t_[m].before == ',');) {
    if (is(m, Word::and_) || is(m, Word::or_)) ++m;
    if (is(m, Word::and_)) ++m;
    const size_t more = second(m);
    if (!more || is(more, Lex::unit)) break;
    out.ranges.push_back({b, b});
    m = end = more;
  }
  if (is(end, Word::onward) ||
      (is(end, Word::on) && (is(end + 1, Word::onward) || (opening == Word::from && sentence_end(end + 1))))) {
    out.ranges = {{a, kNoEnd}};
    end += is(end, Word::on) && is(end + 1, Word::onward) ? 2 : 1;
  }
  return end;
}

// the second through fifth sessions; from our 2nd chat to our 5th
size_t TimeParser::sessions_by_ordinal(size_t j, Word opening, TimeConstraint& out) const {
  int64_t a = 0, b = 0;
  size_t k = ordinal(j, a);
  if (!k) return 0;
  if (const size_t noun = session_noun(k)) k = noun;
  if (const size_t t = session_through(k, opening)) {
    size_t m = t;
    while (is(m, Word::our) || is(m, Word::the)) ++m;
    if (const size_t n = ordinal(m, b)) {
      size_t end = n;
      const size_t noun = session_noun(end);
      if (noun) end = noun;
      if (!noun && session_noun(ordinal(j, a)) == 0) return 0;
      set_span(out, a, b);
      return end;
    }
    if (m > t && (is(m, Word::last) ||
                  (is(m, Word::most) && is(m + 1, Word::recent)))) {  // the third through the last session
      const size_t e = session_noun(is(m, Word::last) ? m + 1 : m + 2);
      if (e) {
        out.axis = Axis::session, out.ranges = {{a, kNoEnd}}, out.name = "session-span";
        return e;
      }
    }
    return 0;
  }
  return 0;
}

// 1 is the first, -1 the last: "third", "last", "most recent", "penultimate"
size_t TimeParser::session_place(size_t i, int64_t& v) const {
  size_t m = i;
  while (is(m, Word::our) || is(m, Word::the) || is(m, Word::very)) ++m;
  if (is(m, Word::last) || is(m, Word::penultimate)) {
    v = is(m, Word::last) ? -1 : -2;
    return m + 1;
  }
  if (is(m, Word::most) && is(m + 1, Word::recent)) {
    v = -1;
    return m + 2;
  }
  return ordinal(m, v);
}

// our third and fifth conversations, the first and the last session, the first session and the third one
size_t TimeParser::sessions_listed(size_t j, TimeConstraint& out) const {
  int64_t v = 0;
  size_t m = session_place(j, v);
  if (!m) return 0;
  std::vector<TimeRange> all = {{v, v}};
  size_t noun = session_noun(m);
  if (noun) m = noun;
  while (m < n_ && all.size() < kLongestList && (is(m, Word::and_) || is(m, Word::or_) || t_[m].before == ',')) {
    size_t next = is(m, Word::and_) || is(m, Word::or_) ? m + 1 : m;
    if (is(next, Word::and_)) ++next;
    if (is(next, Word::in)) ++next;
    const size_t o = session_place(next, v);
    if (!o) break;
    if (is(o, Lex::unit) || is(o, Lex::month) || is(o, Lex::weekday) || is(o, Word::of)) break;
    all.push_back({v, v});
    m = o;
    if (const size_t behind = session_noun(m)) m = noun = behind;
  }
  if (all.size() < 2 || !noun) return 0;
  out.axis = Axis::session, out.ranges = std::move(all), out.name = "session-list", out.counted = true;
  return m;
}

}  // namespace quern::memory
