// Anchors: a session, a turn or a day that is found first, and what is counted from it. "the chat right before the one
// on 6 May", "two sessions after our first", "everything before the session of last Friday", "the day after our third
// chat", "the message that came after the last one of 1 March".
#include <algorithm>

#include "quern/memory/time/time_parser.h"

namespace quern::memory {

// "right", "directly", "immediately" and the like in front of before and after
size_t TimeParser::closely(size_t i) const {
  while (said(i, "right") || said(i, "immediately") || said(i, "directly") || said(i, "straight") ||
         said(i, "shortly") || said(i, "that") || said(i, "which") || said(i, "came") || said(i, "comes") ||
         said(i, "took") || said(i, "place") || said(i, "happened") || said(i, "we") || said(i, "had") ||
         said(i, "they") || said(i, "was") || said(i, "is") || said(i, "coming") || said(i, "came") ||
         said(i, "happening") || said(i, "soon") || said(i, "held") || is(i, Word::exactly))
    ++i;
  return i;
}

// "before", "prior to", "after", "following": behind it, with the side that it names
size_t TimeParser::side_word(size_t i, Side& side) const {
  if (is(i, Word::before) || said(i, "preceding") || said(i, "precedes") || said(i, "preceded")) {
    side = Side::before;
    return i + 1;
  }
  if (is(i, Word::previous) && is(i + 1, Word::to)) {
    side = Side::before;
    return i + 2;
  }
  if (said(i, "leading") && is(i + 1, Word::up) && is(i + 2, Word::to)) {
    side = Side::before;
    return i + 3;
  }
  if (is(i, Word::after) || said(i, "follows") || said(i, "followed")) {
    side = Side::after;
    return i + 1;
  }
  if (said(i, "succeeding") || said(i, "succeeded")) {
    side = Side::after;
    return i + 1;
  }
  if (said(i, "ahead") && is(i + 1, Word::of)) {
    side = Side::before;
    return i + 2;
  }
  if (said(i, "subsequent") && is(i + 1, Word::to)) {
    side = Side::after;
    return i + 2;
  }
  return 0;
}

namespace {

std::shared_ptr<const TimeQuery> shared(TimeQuery&& q) { return std::make_shared<const TimeQuery>(std::move(q)); }

}  // namespace

// What a session is counted from: "the one on 6 May", "that of last Friday", "our first chat in June", "the session
// of 3 March", "session 4". A bare date is no anchor, nor a session that only its number tells.
size_t TimeParser::session_anchor(size_t i, TimeQuery& out) const {
  size_t k = i;
  while (is(k, Word::our) || is(k, Word::the) || is(k, Word::very)) ++k;
  TimeConstraint base;
  Period p;
  auto dated = [&](size_t from) -> size_t {  // "in June", behind a session that is counted
    const bool led = is(from, Word::in) || is(from, Word::of) || is(from, Word::on) || is(from, Word::from) ||
                     is(from, Word::at) || is(from, Word::over);
    if (!led) return 0;
    return period(from + 1, p, 1);
  };
  if (const size_t end = one_session(i, base); end && base.ranges.size() == 1) {
    out.constraints.push_back(base);
    if (const size_t with = dated(end); with && !p.impossible) {
      out.constraints.push_back(from_period(p));
      return with;
    }
    return end;
  }
  const bool noun = (is(k, Lex::session) && t_[k].value == 0) || is(k, Word::one) || is(k, Word::that);
  if (!noun) {  // "the March 6 one", "Tuesday's chat"
    const size_t end = period(k, p, 1);
    const bool genitive = end && sentence_end(end) && w_.spelling(end - 1).ends_with("'s");  // "last Tuesday's"
    if (genitive && !p.impossible) {
      out.constraints.push_back(from_period(p));
      return end;
    }
    if (!end || p.impossible ||
        !(is(end, Word::one) || (is(end, Lex::session) && t_[end].value == 0 && !t_[end].plural)))
      return 0;
    out.constraints.push_back(from_period(p));
    return end + 1;
  }
  size_t led = k + 1;
  if (is(led, Word::that) || said(led, "which")) ++led;
  if (is(led, Word::we) && (said(led + 1, "had") || said(led + 1, "held"))) led += 2;
  if (said(led, "took") && said(led + 1, "place")) led += 2;
  while (said(led, "held") || said(led, "dated") || said(led, "we") || said(led, "happened") || said(led, "was") ||
         said(led, "which") || is(led, Word::that))
    ++led;
  const size_t end = is(led, Word::in) || is(led, Word::of) || is(led, Word::on) || is(led, Word::from) ||
                             is(led, Word::at) || is(led, Word::over)
                         ? period(led + 1, p, 1)
                         : period(led, p, 1);
  if (!end || p.impossible) return 0;
  out.constraints.push_back(from_period(p));
  return end;
}

// [two | the next | the last] SESSION [right] before | after ANCHOR
size_t TimeParser::session_beside_anchor(size_t i, TimeConstraint& out) const {
  size_t j = i;
  while (is(j, Word::our) || is(j, Word::the) || is(j, Word::very)) ++j;
  const bool article = j > i;
  int64_t n = 1;
  bool many = false, nth = false;
  if (const size_t c = count(j, n); c && !is(j, Word::a) && is(c, Lex::session)) {
    j = c, many = true;
  } else if (const size_t o = ordinal(j, n); o && (is(o, Lex::session) || is(o, Word::one))) {
    j = o, nth = true;
  } else {
    n = 1;
    if (is(j, Word::next) || is(j, Word::last) || is(j, Word::previous)) ++j;
  }
  const bool plural = is(j, Lex::session) && t_[j].plural && !many;
  const bool noun =
      (is(j, Lex::session) && t_[j].value == 0) || (is(j, Word::one) && article) || (is(j, Lex::session) && many);
  // "the next time we spoke after", "the last time we talked before"
  const size_t time_we_talked =
      is(j, Lex::session) && t_[j].value == 1 && j > i && !many && !t_[j].plural ? session_noun(j) : 0;
  if ((!noun && !time_we_talked) || n < 1 || n > 10'000) return 0;
  Side side = Side::before;
  size_t after_noun = j + 1;
  if (time_we_talked) after_noun = time_we_talked;
  const size_t behind = side_word(closely(after_noun), side);
  if (!behind) return 0;
  TimeQuery anchor;
  const size_t end = session_anchor(behind, anchor);
  Period p;
  if (const size_t dated = end || (!many && !nth && !time_we_talked) ? 0 : period(behind, p, 1);
      dated && !p.impossible) {
    out.axis = Axis::session, out.counted = true, out.from_end = side == Side::before;
    out.name = "session-beside-date", out.argument = side == Side::before ? p.lo - 1 : p.hi + 1;
    out.ranges = {many ? TimeRange{article ? 1 : n, n} : TimeRange{n, n}};
    return dated;
  }
  if (!end) return 0;
  out.axis = Axis::session, out.name = "session-beside-anchor", out.anchor = shared(std::move(anchor));
  const bool before = side == Side::before;
  const int64_t far = before ? kNoBegin : kNoEnd;
  if (plural)
    out.ranges = {before ? TimeRange{far, -1} : TimeRange{1, far}};
  else if (many && article)  // "the two chats before …": both of them
    out.ranges = {before ? TimeRange{-n, -1} : TimeRange{1, n}};
  else if (nth)
    out.ranges = {before ? TimeRange{-n, -n} : TimeRange{n, n}};
  else
    out.ranges = {before ? TimeRange{-n, -n} : TimeRange{n, n}};
  return end;
}

// before | after | since | until ANCHOR: all sessions on that side; "right after …": the next one
size_t TimeParser::sessions_open_anchor(size_t i, TimeConstraint& out) const {
  const size_t j = closely(i);
  Side side = Side::before;
  bool inside = false;
  size_t k = side_word(j, side);
  if (!k && is(j, Word::since)) k = j + 1, side = Side::after, inside = true;
  if (!k && is(j, Word::until)) k = j + 1, side = Side::before, inside = true;
  if (!k && is(j, Word::up) && is(j + 1, Word::to)) k = j + 2, side = Side::before, inside = true;
  if (!k) return 0;
  TimeQuery anchor;
  const size_t end = session_anchor(k, anchor);
  if (!end) return 0;
  const bool close = said(i, "right") || said(i, "immediately") || said(i, "directly") || said(i, "straight") ||
                     said(i, "shortly") || is(i, Word::exactly);
  const bool next = said(j, "followed") || said(j, "follows") || said(j, "preceded") || said(j, "precedes");
  if (j > i && !close && !next) return 0;  // "what came since our third chat": begins at "since"
  const bool before = side == Side::before;
  const bool counted_alone = anchor.constraints.size() == 1 && anchor.constraints[0].axis == Axis::session;
  if (counted_alone && !close && !next) return 0;  // sessions_since has those
  out.axis = Axis::session, out.name = "session-beside-anchor", out.anchor = shared(std::move(anchor));
  const int64_t near = inside ? 0 : before ? -1 : 1;
  out.ranges = {close || next ? TimeRange{near, near} : before ? TimeRange{kNoBegin, near} : TimeRange{near, kNoEnd}};
  // "right after the first conversation, I mean in the next one"
  for (size_t m = end; m < n_ && m < end + 6; ++m)
    if ((is(m, Word::next) || is(m, Word::after) || is(m, Word::previous)) &&
        (is(m + 1, Word::one) || is(m + 1, Lex::session))) {
      out.ranges = {{before ? -1 : 1, before ? -1 : 1}};
      return m + 2;
    }
  return end;
}

// the [two] day | week | month before | after | of ANCHOR; "on the same day as our first chat"
size_t TimeParser::date_beside_anchor(size_t i, TimeConstraint& out) const {
  size_t j = is(i, Word::on) || is(i, Word::in) ? i + 1 : i;
  j = skip(j, Word::the);
  int64_t n = 1;
  bool counted = false;
  if (const size_t c = count(j, n); c && is(c, Lex::unit)) j = c, counted = true;
  const bool same = said(j, "same");
  if (same) ++j;
  if (!is(j, Lex::unit) || n < 1 || n > 10'000) return 0;
  const Unit u = static_cast<Unit>(t_[j].value);
  if (u != Unit::day && u != Unit::week && u != Unit::month) return 0;
  Side side = Side::before;
  size_t k = side_word(closely(j + 1), side);
  const bool of = !k && (is(j + 1, Word::of) || (same && is(j + 1, Word::as)));
  if (of) k = j + 2;
  if (!k) return 0;
  TimeQuery anchor;
  const size_t end = session_anchor(k, anchor);
  if (!end) return 0;
  const bool session_named = std::any_of(anchor.constraints.begin(), anchor.constraints.end(),
                                         [](const auto& c) { return c.axis == Axis::session; }) ||
                             is(skip(k, Word::the), Lex::session) || is(skip(k, Word::our), Lex::session);
  if (!session_named) return 0;
  out.axis = Axis::date, out.name = "date-beside-anchor", out.anchor = shared(std::move(anchor));
  out.grain = u == Unit::day ? Grain::day : u == Unit::week ? Grain::week : Grain::month;
  const int64_t step = of ? 0 : side == Side::before ? -n : n;
  out.ranges = {{step, step}};
  if (!counted && t_[j].plural) out.ranges = {side == Side::before ? TimeRange{-7, -1} : TimeRange{1, 7}};
  return end;
}

// the message [that came right] after | before the last | first one of PERIOD, or of a session
size_t TimeParser::response_beside_anchor(size_t i, TimeConstraint& out) const {
  size_t j = skip(i, Word::the);
  if (is(j, Word::next) || is(j, Word::last)) ++j;
  if (!is(j, Lex::response) || t_[j].plural) return 0;
  Side side = Side::before;
  size_t k = side_word(closely(j + 1), side);
  if (!k) return 0;
  while (is(k, Word::our) || is(k, Word::the) || is(k, Word::very)) ++k;
  TimeConstraint one;
  int64_t v = 1;
  size_t m = 0;
  if (is(k, Word::last) && (is(k + 1, Word::one) || is(k + 1, Lex::response)))
    m = k + 2, one.from_end = true;
  else if (const size_t o = ordinal(k, v); o && (is(o, Word::one) || is(o, Lex::response)))
    m = o + 1;
  if (!m) return 0;
  one.axis = Axis::response, one.counted = true, one.ranges = {{v, v}}, one.name = "response";
  TimeQuery anchor;
  Period p;
  if (is(m, Word::of) || is(m, Word::on) || is(m, Word::in) || is(m, Word::from)) ++m;
  size_t end = period(m, p, 1);
  if (end && !p.impossible) {
    anchor.constraints.push_back(from_period(p));
  } else {
    TimeConstraint session;
    end = one_session(m, session);
    if (!end) return 0;
    anchor.constraints.push_back(session);
  }
  anchor.constraints.push_back(one);
  out.axis = Axis::response, out.name = "response-beside-anchor", out.anchor = shared(std::move(anchor));
  const int64_t step = side == Side::before ? -1 : 1;
  out.ranges = {{step, step}};
  return end;
}

}  // namespace quern::memory
