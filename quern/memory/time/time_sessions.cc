// Sessions and responses: "our third chat", "sessions 2 through 5", "the last time we talked", "two conversations
// ago", "the session before last", "message 26". Numbers from the front begin with 1; from the end the last finished
// one is 1 and the current one is 0.
#include <algorithm>

#include "quern/memory/time/time_parser.h"

namespace quern::memory {

// The token behind a word for a session. "time" is one only with its clause: "the third time we talked", "last time".
size_t TimeParser::session_noun(size_t i) const {
  size_t j = i;
  // "every session but the first", "our first session and our last": the noun is left out
  const bool place = i > 0 && i <= n_ && (t_[i - 1].lex == Lex::ordinal || t_[i - 1].word == Word::last);
  if (excepting_ && i > 1 && is(i - 1, Word::recent) && is(i - 2, Word::most) && sentence_end(i)) return i;
  if (place && first_session_ < i && !t_[i - 1].digits &&
      (sentence_end(i) || is(i, Word::and_) || is(i, Word::or_)) && i >= 2 &&
      (is(i - 2, Word::the) || is(i - 2, Word::our) || is(i - 2, Word::very) || excepting_ || comparing_ ||
       differing_))
    return i;
  if ((is(i, Word::one) || said(i, "ones")) && first_session_ < i && !is(i + 1, Lex::unit) &&
      !is(i + 1, Lex::session))
    return i + 1;
  while (is(j, Word::ever) || is(j, Word::very) || said(j, "actual") || said(j, "long") || said(j, "little") ||
         said(j, "full") || said(j, "proper") || said(j, "whole") || said(j, "entire") || said(j, "real") ||
         said(j, "chat") || said(j, "phone") || said(j, "talk")) {
    if ((said(j, "chat") || said(j, "talk")) && !is(j + 1, Lex::session)) break;
    ++j;
  }
  if (is(j, Word::of) && (is(j + 1, Word::our) || is(j + 1, Word::the) || is(j + 1, Word::this_))) {
    j += 2;
    if (!is(j, Lex::session) || !t_[j].plural) return 0;
  }
  if (said(j, "get") && (said(j + 1, "together") || said(j + 1, "togethers"))) return j + 2;
  if (!is(j, Lex::session)) return 0;
  if (t_[j].value == 0) {
    ++j;
    if (is(j, Word::ever)) ++j;
    // "conversation we had": its own clause adds nothing
    size_t k = is(j, Word::that) ? j + 1 : j;
    if (is(k, Word::we) && (said(k + 1, "had") || said(k + 1, "have") || said(k + 1, "held"))) return k + 2;
    return j;
  }
  ++j;
  if (is(j, Word::ever)) ++j;
  size_t k = is(j, Word::that) || said(j, "when") ? j + 1 : j;
  if (is(k, Word::we)) {
    const size_t subject = k;
    while (k < n_ && k < subject + 6 && !is(k, Word::talk)) {
      if (k > subject && sentence_end(k)) return 0;
      ++k;
    }
    if (is(k, Word::talk)) return k + 1;
    return 0;
  }
  return 0;
}

// the third chat, our very first conversation, the second to last session, the first five sessions
size_t TimeParser::session_counted(size_t i, TimeConstraint& out) const {
  if (i > 0 && is(i - 1, Word::we)) return 0;  // "when did we first talk about …" asks for a time
  size_t j = i;
  while (is(j, Word::our) || is(j, Word::the) || is(j, Word::very)) ++j;
  if (j > i && (is(j, Word::our) || is(j, Word::the))) ++j;
  int64_t v = 0, m = 0;
  auto set = [&](int64_t lo, int64_t hi, bool from_end) {
    out.axis = Axis::session, out.ranges = {{lo, hi}}, out.from_end = from_end, out.counted = true;
    out.name = "session-counted";
  };
  if (is(j, Word::penultimate)) {
    const size_t end = session_noun(j + 1);
    if (end) set(2, 2, true);
    return end;
  }
  if (said(j, "antepenultimate")) {
    const size_t end = session_noun(j + 1);
    if (end) set(3, 3, true);
    return end;
  }
  if (is(j, Word::next) && is(j + 1, Word::to) && is(j + 2, Word::last)) {
    const size_t end = session_noun(j + 3);
    if (end) set(2, 2, true);
    return end;
  }
  // [the chat] two before the last
  const size_t noun = is(j, Lex::session) && t_[j].value == 0 ? j + 1 : j;
  if (const size_t c = number(noun, m);
      c && is(c, Word::before) && (is(c + 1, Word::the) || is(c + 1, Word::our)) && is(c + 2, Word::last)) {
    const size_t end = session_noun(c + 3);
    if (end || (noun > j && sentence_end(c + 3))) {
      set(1 + m, 1 + m, true);
      return end ? end : c + 3;
    }
  }
  const size_t k = ordinal(j, v);
  if (!k) return 0;
  size_t last = 0;
  if (is(k, Word::to) && is(k + 1, Word::last)) last = k + 2;
  if (is(k, Word::from) &&
      (is(k + 1, Word::the) ? is(k + 2, Word::last) || is(k + 2, Word::end) : is(k + 1, Word::last)))
    last = is(k + 1, Word::the) ? k + 3 : k + 2;
  if (is(k, Word::last)) last = k + 1;
  if (is(k, Word::most) && is(k + 1, Word::recent)) last = k + 2;
  if (last) {
    const size_t end = session_noun(last);
    const bool to_last = is(k, Word::to) || is(k, Word::from);
    if (end) set(to_last && v == 1 ? 1 : v, to_last && v == 1 ? 1 : v, true);
    return end;
  }
  if (is(k - 1, Word::first))  // the first five sessions
    if (const size_t c = count(k, m); c && !is(k, Word::a))
      if (const size_t end = session_noun(c); end && t_[c].plural) {
        set(1, m, false);
        return end;
      }
  const size_t end = session_noun(k);
  if (!end) return 0;
  if (is(end, Word::from) && is(end + 1, Word::the) && is(end + 2, Word::end)) {  // "the fourth session from the end"
    set(v, v, true);
    return end + 3;
  }
  // "for the first time" tells of something else than a session
  if (i > 0 && said(i - 1, "for") && is(end - 1, Lex::session) && t_[end - 1].value == 1) return 0;
  set(v, v, false);
  return end;
}

// two sessions ago, three chats back, a couple of conversations ago
size_t TimeParser::session_ago(size_t i, TimeConstraint& out) const {
  int64_t v = 0;
  size_t j = count(i, v);
  if (!j) return 0;
  if (!is(j, Lex::session)) return 0;
  ++j;
  if (i > 0 && is(i - 1, Word::back) && sentence_end(j)) {  // "go back four sessions"
    out.axis = Axis::session, out.ranges = {{v, v}}, out.from_end = true, out.name = "sessions-ago";
    return j;
  }
  if (!(is(j, Word::ago) || is(j, Word::back) ||
        (is(j, Word::before) && (is(j + 1, Word::this_) || is(j + 1, Word::now))) ||
        ((is(j, Word::earlier) || is(j, Word::previous)) && sentence_end(j + 1))))
    return 0;
  size_t end = j + 1;
  if (is(j, Word::before)) end = j + 2 + (is(j + 2, Lex::session) || is(j + 2, Word::one) ? 1 : 0);
  const bool all = is(j, Word::before) && i > 0 && is(i - 1, Word::the);  // "the three chats before this one"
  out.axis = Axis::session, out.ranges = {{all ? 1 : v, v}}, out.from_end = true, out.name = "sessions-ago";
  return end;
}

// the last session, our most recent chat, last time, the past three conversations, this session
size_t TimeParser::session_last(size_t i, TimeConstraint& out) const {
  size_t j = i;
  if (is(j, Word::over) || is(j, Word::in)) ++j;
  if (is(j, Word::over)) ++j;
  while (is(j, Word::our) || is(j, Word::the) || is(j, Word::very)) ++j;
  auto set = [&](int64_t lo, int64_t hi, bool counted) {
    out.axis = Axis::session, out.ranges = {{lo, hi}}, out.from_end = true, out.counted = counted;
    out.name = "session-last";
  };
  if (is(j, Word::this_) || is(j, Word::current)) {
    size_t k = is(j, Word::this_) && is(j + 1, Word::current) ? j + 2 : j + 1;
    if (is(k, Lex::session) && t_[k].value == 0 && !t_[k].plural && !t_[k].weak) {
      set(0, 0, false);
      return k + 1;
    }
    return 0;
  }
  // our five most recent chats, the three latest
  int64_t many_first = 0;
  if (const size_t c = count(j, many_first);
      c && !is(j, Word::a) && (is(c, Word::last) || (is(c, Word::most) && is(c + 1, Word::recent))))
    if (const size_t end = session_noun(is(c, Word::last) ? c + 1 : c + 2)) {
      set(1, many_first, true);
      return end;
    }
  // the last but one chat
  if (int64_t more = 0; is(j, Word::last) && is(j + 1, Word::but) && number(j + 2, more))
    if (const size_t end = session_noun(number(j + 2, more))) {
      set(1 + more, 1 + more, true);
      return end;
    }
  bool most = false;
  if (is(j, Word::most) && is(j + 1, Word::recent)) ++j, most = true;
  const bool last = most || is(j, Word::last) || is(j, Word::past) || is(j, Word::previous);
  if (!last) return 0;
  const bool past = is(j, Word::past);
  size_t k = j + 1;
  int64_t v = 1;
  bool many = false;
  if (const size_t c = count(k, v); c && !is(k, Word::a) && !session_noun(k)) k = c, many = true;
  if (is(k, Lex::session) && t_[k].value == 1 && !many && !past) {  // last time
    if (const size_t end = session_noun(k)) {
      set(1, 1, true);
      return end;
    }
    if (is(k + 1, Word::before) || (is(k + 1, Word::but) && is(k + 2, Word::one))) return 0;
    const bool talked_before = [&] {
      for (size_t b = i; b > 0 && i - b < 5;) {
        if (t_[b].starts) break;
        --b;
        if (is(b, Word::talk) || is(b, Word::mention)) return true;
      }
      return false;
    }();
    const size_t behind = said(k + 1, "round") || is(k + 1, Word::around) || said(k + 1, "out") ? k + 2 : k + 1;
    if (sentence_end(behind) && (talked_before || j == i || behind > k + 1)) {
      set(1, 1, true);
      return behind;
    }
    return 0;
  }
  const size_t end = session_noun(k);
  if (!end) return 0;
  if (past && !many) return 0;
  if (is(end, Word::but) && is(end + 1, Word::one)) {  // the last session but one
    set(2, 2, true);
    return end + 2;
  }
  if (int64_t more = 0; is(end, Word::but) && number(end + 1, more)) {  // the last session but two
    set(1 + more, 1 + more, true);
    return number(end + 1, more);
  }
  set(1, many ? v : 1, true);
  return end;
}

// "all our sessions since the tenth", "every chat up to our fifth", from the word behind the noun
size_t TimeParser::sessions_on_one_side(size_t i, TimeConstraint& out) const {
  const bool since = is(i, Word::since), until = is(i, Word::until) || (is(i, Word::up) && is(i + 1, Word::to)),
             before = is(i, Word::before), after = is(i, Word::after);
  if (!since && !until && !before && !after) return 0;
  size_t j = is(i, Word::up) ? i + 2 : i + 1;
  while (is(j, Word::our) || is(j, Word::the)) ++j;
  int64_t v = 0;
  const size_t end = ordinal(j, v);
  if (!end || is(end, Lex::month) || is(end, Lex::unit) || is(end, Word::of)) return 0;
  out.axis = Axis::session, out.name = "session-open-span";
  out.ranges = {since    ? TimeRange{v, kNoEnd}
                : after  ? TimeRange{v + 1, kNoEnd}
                : before ? TimeRange{1, v - 1}
                         : TimeRange{1, v}};
  return is(end, Lex::session) || is(end, Word::one) ? end + 1 : end;
}

size_t TimeParser::one_session(size_t i, TimeConstraint& out) const {
  size_t end = session_range(i, out);
  if (!end || out.ranges.size() != 1) out = {}, end = session_counted(i, out);
  if (!end) out = {}, end = session_ago(i, out);
  if (!end) out = {}, end = session_last(i, out);
  return end;
}

// since our third session, before session 4, from session 2 on
size_t TimeParser::sessions_since(size_t i, TimeConstraint& out) const {
  const bool since = is(i, Word::since), before_all = is(i, Word::before), after_all = is(i, Word::after),
             until = is(i, Word::until) || (is(i, Word::up) && (is(i + 1, Word::to) || is(i + 1, Word::until))),
             from = is(i, Word::from);
  if (!since && !before_all && !after_all && !until && !from) return 0;
  TimeConstraint base;
  const size_t from_token = is(i, Word::up) ? i + 2 : i + 1;
  size_t end = one_session(from_token, base);
  if (!end || base.ranges.size() != 1) return 0;
  const bool on =
      is(end, Word::onward) || (is(end, Word::on) && (sentence_end(end + 1) || is(end + 1, Word::onward)));
  if (from && !on) return 0;
  if (on) end += is(end, Word::on) && is(end + 1, Word::onward) ? 2 : 1;
  const TimeRange r = base.ranges[0];
  out = base;
  const bool later = since || after_all || from;
  const int64_t inside = after_all || before_all ? 0 : 1;
  if (base.from_end) {  // counted backwards: later sessions have lower numbers
    out.ranges = {later ? TimeRange{0, r.lo - (inside ? 0 : 1)} : TimeRange{r.hi + (inside ? 0 : 1), kNoEnd}};
    if (later && out.ranges[0].hi < 0) out.ranges = {{0, 0}};
  } else {
    out.ranges = {later ? TimeRange{inside ? r.lo : r.hi + 1, kNoEnd} : TimeRange{1, inside ? r.hi : r.lo - 1}};
  }
  out.counted = false, out.name = "session-open-span";
  return end;
}

// the session before last, the chat after our third, the conversation right before May 8th is the period's business
size_t TimeParser::session_beside(size_t i, TimeConstraint& out) const {
  size_t j = i;
  while (is(j, Word::our) || is(j, Word::the)) ++j;
  if (const size_t end = sessions_since(i, out)) return end;
  // SESSION before last; the time before last
  size_t noun = 0;
  if (is(j, Lex::session)) noun = j + 1;
  if (is(j, Word::one) && j > i) noun = j + 1;
  if (!noun) return 0;
  size_t k = noun;
  if (said(k, "right") || said(k, "immediately") || is(k, Word::exactly) || said(k, "directly")) ++k;
  if (t_[noun - 1].plural || (j > 0 && is(j - 1, Word::every)))
    if (const size_t end = sessions_on_one_side(k, out)) return end;
  const bool preceding = said(k, "preceding");
  const bool before = is(k, Word::before) || preceding || (is(k, Word::previous) && is(k + 1, Word::to)),
             after = is(k, Word::after);
  if (!before && !after) return 0;
  k += is(k, Word::previous) && !preceding ? 2 : 1;
  if (before && (is(k, Word::last) || (is(k, Word::the) && is(k + 1, Word::last)) ||
                 (is(k, Word::our) && is(k + 1, Word::last)))) {
    size_t end = is(k, Word::last) ? k + 1 : k + 2;
    if (is(end, Word::one) || is(end, Lex::session)) {
      const size_t named = session_noun(end);
      end = named ? named : end + 1;
    }
    if (is(end, Lex::unit) || is(end, Lex::weekday) || is(end, Lex::month) || is(end, Lex::season)) return 0;
    out.axis = Axis::session, out.ranges = {{2, 2}}, out.from_end = true, out.name = "session-before-last";
    return end;
  }
  if (before && (is(k, Word::this_) || is(k, Word::now))) {
    out.axis = Axis::session, out.ranges = {{1, 1}}, out.from_end = true, out.name = "session-last";
    return k + 1 + (is(k + 1, Word::one) || is(k + 1, Lex::session) ? 1 : 0);
  }
  return session_beside_named(k, before ? Side::before : Side::after, out);
}

// the one before (or after) a session that is named, or a date
size_t TimeParser::session_beside_named(size_t k, Side side, TimeConstraint& out) const {
  const bool before = side == Side::before;
  TimeConstraint base;
  if (const size_t end = one_session(k, base); end && base.ranges.size() == 1) {
    out = base;
    const int64_t step = (before ? -1 : 1) * (base.from_end ? -1 : 1);
    const int64_t at = base.ranges[0].lo + step;
    if (at < (base.from_end ? 0 : 1)) return 0;
    out.ranges = {{at, at}}, out.counted = false, out.name = "session-beside";
    return end;
  }
  if (const size_t o = [&] {  // the chat after our third
        int64_t v;
        size_t m = k;
        while (is(m, Word::our) || is(m, Word::the)) ++m;
        const size_t e = ordinal(m, v);
        if (e && (sentence_end(e) || is(e, Word::one)) && m > k)
          out.ranges = {{v + (before ? -1 : 1), v + (before ? -1 : 1)}};
        else
          return size_t{0};
        return is(e, Word::one) ? e + 1 : e;
      }()) {
    out.axis = Axis::session, out.name = "session-beside";
    return o;
  }
  Period p;
  if (const size_t end = period(k, p, 1);
      end && !p.impossible) {  // the first session after a date, the last before it
    out.axis = Axis::session, out.from_end = before, out.name = "session-beside-date";
    out.ranges = {{1, 1}}, out.counted = true;
    out.argument = before ? p.lo - 1 : p.hi + 1;
    return end;
  }
  return 0;
}

// "not the last discussion, but the one before that"
size_t TimeParser::session_not_last(size_t i, TimeConstraint& out) const {
  if (!is(i, Word::not_)) return 0;
  size_t j = i + 1;
  if (is(j, Word::in)) ++j;
  while (is(j, Word::our) || is(j, Word::the) || (is(j, Word::most))) ++j;
  if (!is(j, Word::last) && !is(j, Word::previous) && !is(j, Word::recent)) return 0;
  size_t k = session_noun(j + 1);
  if (!k && (is(j + 1, Word::one) || is(j + 1, Lex::session))) k = j + 2;
  if (!k || !is(k, Word::but)) return 0;
  ++k;
  if (said(k, "rather")) ++k;
  while (is(k, Word::in) || is(k, Word::the) || is(k, Word::one) || is(k, Lex::session)) ++k;
  if (said(k, "right") || is(k, Word::exactly)) ++k;
  if (!is(k, Word::before) && !is(k, Word::previous)) return 0;
  ++k;
  if (is(k, Word::that) || said(k, "it") || is(k, Word::this_)) ++k;
  if (is(k, Word::one)) ++k;
  out.axis = Axis::session, out.ranges = {{2, 2}}, out.from_end = true, out.name = "session-before-last";
  return k;
}

// when we first talked, when we last spoke
size_t TimeParser::session_verb(size_t i, TimeConstraint& out) const {
  if (!said(i, "when")) return 0;
  if (!is(i + 1, Word::we)) return 0;
  size_t j = i + 2;
  if (is(j, Word::and_) && is(j + 1, Word::we)) j += 2;
  const bool first = is(j, Word::first), last = is(j, Word::last);
  if ((!first && !last) || !is(j + 1, Word::talk)) return 0;
  out.axis = Axis::session, out.ranges = {{1, 1}}, out.from_end = last, out.counted = true,
  out.name = "session-counted";
  return j + 2;
}

size_t TimeParser::session_clause(size_t i, TimeConstraint& out) const {
  size_t best = 0;
  TimeConstraint c;
  auto attempt = [&](size_t end) {
    if (end > best) best = end, out = c;
    c = TimeConstraint();
  };
  attempt(session_not_last(i, c));
  attempt(session_beside_anchor(i, c));
  attempt(sessions_open_anchor(i, c));
  attempt(session_beside(i, c));
  attempt(session_range(i, c));
  attempt(session_counted(i, c));
  attempt(session_ago(i, c));
  attempt(session_last(i, c));
  attempt(session_verb(i, c));
  // A preposition in front belongs to the phrase.
  if (!best &&
      (is(i, Word::in) || is(i, Word::at) || is(i, Word::on) || is(i, Word::from) || is(i, Word::of) ||
       is(i, Word::over)) &&
      i + 1 < n_ &&
      !(is(i + 1, Word::in) || is(i + 1, Word::at) || is(i + 1, Word::on) || is(i + 1, Word::of) ||
        is(i + 1, Word::from) || is(i + 1, Word::over)))
    return session_clause(i + 1, out);
  return best;
}

// response number 26, message #3, turns 10 to 20, the 26th message, the last five messages
size_t TimeParser::response_clause(size_t i, TimeConstraint& out) const {
  if (const size_t end = response_beside_anchor(i, out)) return end;
  out = {};
  if (const size_t end = thing_said(i, out)) return end;
  if (const size_t end = opened_with(i, out)) return end;
  size_t j = i;
  if (is(j, Word::in) || is(j, Word::at) || is(j, Word::over) || is(j, Word::between) || is(j, Word::from)) ++j;
  while (is(j, Word::our) || is(j, Word::the) || is(j, Word::very)) ++j;
  int64_t a = 0, b = 0;
  out.axis = Axis::response, out.name = "response";
  if (is(j, Lex::response)) {
    const size_t k = skip(j + 1, Word::number);
    const size_t first = number(k, a);
    if (!first || is(first, Lex::unit) || (t_[j].weak && !t_[k].digits)) return 0;
    out.numbered = true, out.ranges = {{a, a}};
    size_t sep = 0;
    if (is(first, Word::to) || is(first, Word::through) || is(first, Word::until) || is(first, Word::and_))
      sep = first + 1;
    if (dash(first)) sep = first;
    if (!sep) {  // 5, 6 and 7
      size_t end = first;
      for (size_t k2 = first; k2 < n_ && t_[k2].before == ',';) {
        const size_t more = number(skip(k2, Word::and_), b);
        if (!more) break;
        out.ranges.push_back({b, b});
        k2 = end = more;
        if (is(k2, Word::and_) && is(k2 + 1, Lex::number)) {
          end = number(k2 + 1, b), out.ranges.push_back({b, b});
          break;
        }
      }
      return end;
    }
    size_t m = is(sep, Lex::response) ? skip(sep + 1, Word::number) : sep;
    const size_t end = number(m, b);
    if (!end) return first;
    if (is(first, Word::and_) && !is(i, Word::between))
      out.ranges.push_back({b, b});
    else
      out.ranges = {{std::min(a, b), std::max(a, b)}};
    return end;
  }
  // our three most recent messages
  if (const size_t c = count(j, a); c && !is(j, Word::a) && (is(c, Word::last) || is(c, Word::most))) {
    const size_t k = is(c, Word::last) ? c + 1 : c + 2;
    if (is(k, Lex::response) && !t_[k].weak && (is(c, Word::last) || is(c + 1, Word::recent))) {
      out.from_end = out.counted = true, out.ranges = {{1, a}};
      return k + 1;
    }
  }
  const bool last = is(j, Word::last) || is(j, Word::past) || is(j, Word::previous) ||
                    (is(j, Word::most) && is(j + 1, Word::recent));
  if (last) {
    size_t k = is(j, Word::most) ? j + 2 : j + 1;
    int64_t v = 1;
    if (const size_t c = count(k, v); c && !is(k, Word::a)) k = c;
    if (!is(k, Lex::response) || t_[k].weak) return 0;
    out.from_end = out.counted = true, out.ranges = {{1, v}};
    return k + 1;
  }
  if (const size_t c = count(j, a);
      c && is(c, Lex::response) && !t_[c].weak && (is(c + 1, Word::ago) || is(c + 1, Word::back))) {
    out.from_end = true, out.ranges = {{a, a}};
    return c + 2;
  }
  const size_t k = ordinal(j, a);
  if (!k) return 0;
  if (is(k - 1, Word::first))
    if (const size_t c = count(k, b); c && !is(k, Word::a) && is(c, Lex::response)) {
      out.counted = true, out.ranges = {{1, b}};
      return c + 1;
    }
  if (!is(k, Lex::response) || t_[k].weak) return 0;
  out.counted = true, out.ranges = {{a, a}};
  return k + 1;
}

}  // namespace quern::memory
