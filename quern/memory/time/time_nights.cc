// A night by both of its days: "the night of 30 to 31 March", "the night from Monday to Tuesday". It begins on the first.
#include "quern/memory/time/time_parser.h"

namespace quern::memory {

size_t TimeParser::night_between(size_t i, Period& out) const {
  size_t j = skip(i, Word::the);
  if (!is(j, Lex::part) || t_[j].plural) return 0;
  const DayPart part = static_cast<DayPart>(t_[j].value);
  if (part != DayPart::night && part != DayPart::late) return 0;
  ++j;
  if (is(j, Word::of) || is(j, Word::on)) ++j;
  const bool between = is(j, Word::between);
  const size_t first = skip(is(j, Word::from) || between ? j + 1 : j, Word::the);
  if (first == j && j == skip(i, Word::the) + 1) return 0;  // "night Monday …"
  if (weekday_here(first)) {
    const size_t sep = between && is(first + 1, Word::and_) ? first + 2 : range_separator(first + 1, Word::from);
    const size_t second = is(sep, Word::on) ? sep + 1 : sep;
    if (sep && weekday_here(second) && sentence_end(second + 1) && t_[second].value == (t_[first].value + 1) % 7) {
      const Day ends = today_ - (weekday_of(today_) - t_[second].value + 7) % 7;  // the latest, today's among them
      out = day_part_period(ends - 1, part, PartBounds::strict);
      return second + 1;
    }
  }
  const size_t end = range(first == j ? first : j, out);
  if (!end || out.impossible || out.last() - out.first() != 1) return 0;
  const bool absolute = out.absolute;
  out = day_part_period(out.first(), part, PartBounds::strict);
  out.absolute = absolute;
  return end;
}

}  // namespace quern::memory
