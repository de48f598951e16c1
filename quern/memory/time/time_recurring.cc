// Clauses about hours and days that recur: "on Tuesdays", "every Monday", "in the mornings", "at 3 pm", "between 2 and
// 4 pm".
#include <algorithm>
#include <utility>

#include "quern/memory/time/time_parser.h"

namespace quern::memory {
// Of every week or every day: "on Tuesdays", "every Monday", "on weekends", "in the mornings".
size_t TimeParser::recurring(size_t i, TimeConstraint& out) const {
  size_t j = i;
  if (is(j, Word::on) || is(j, Word::in) || is(j, Word::at) || is(j, Word::over)) ++j;
  const bool every = is(j, Word::every) || said(j, "any");
  if (every) ++j;
  j = skip(j, Word::the);
  if (j >= n_) return 0;
  const bool a_weekday = is(j, Word::a) && (is(j + 1, Lex::weekday)) && !is(j + 2, Lex::unit);
  if (a_weekday) ++j;
  out.axis = Axis::weekday, out.grain = Grain::day, out.name = "every-week";
  size_t listed = j;  // "Friday nights", "Sunday and Monday mornings"
  while (is(listed, Lex::weekday) && is(listed + 1, Word::and_) && is(listed + 2, Lex::weekday)) listed += 2;
  const bool nights = is(listed, Lex::weekday) && is(listed + 1, Lex::part) && t_[listed + 1].plural;
  if (is(j, Lex::weekday) && (every || t_[j].plural || a_weekday || nights)) {
    out.ranges = {{t_[j].value, t_[j].value}};
    size_t end = j + 1;
    while ((is(end, Word::and_) || is(end, Word::or_) || (end < n_ && t_[end].before == ','))) {
      size_t k = is(end, Word::and_) || is(end, Word::or_) ? end + 1 : end;
      if (is(k, Word::on)) ++k;
      if (!is(k, Lex::weekday) || !(t_[k].plural || every || (nights && k <= listed))) break;
      out.ranges.push_back({t_[k].value, t_[k].value});
      end = k + 1;
    }
    return end;
  }
  if (is_unit(j, Unit::weekend) && (t_[j].plural || every)) {
    out.ranges = {{5, 6}};
    return said(j + 1, "only") ? j + 2 : j + 1;
  }
  if (said(j, "weekdays") || said(j, "weekday") || said(j, "workdays") || said(j, "workday")) {
    out.ranges = {{0, 4}};
    return is(j + 1, Word::exactly) || said(j + 1, "only") ? j + 2 : j + 1;
  }
  const bool of_chats = j == i && is(j + 1, Lex::session) && t_[j + 1].value == 0;  // "our morning chats"
  if (is(j, Lex::part) && (t_[j].plural || every || of_chats)) {
    out.axis = Axis::clock, out.grain = Grain::part, out.name = "every-day";
    out.ranges = hours_of(static_cast<DayPart>(t_[j].value));
    return j + 1;
  }
  return 0;
}

}  // namespace quern::memory
