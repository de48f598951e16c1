// Holidays in a question: when a name means the day, and of which year.
#include "quern/memory/time/time_parser.h"

namespace quern::memory {

// Names of holidays, at the tokens where they begin.
void TimeParser::find_holidays() {
  holidays_.assign(n_, {});
  std::vector<std::string> words(n_);
  for (size_t i = 0; i < n_; ++i)
    words[i] = holiday_word(is(i, Lex::holiday) ? kHolidayNames[static_cast<size_t>(t_[i].value)] : w_.spelling(i));
  for (size_t i = 0; i < n_; ++i) {
    size_t end = i + 1;
    while (end < n_ && end < i + kLongestHolidayName &&
           (joined(end) || (t_[end].before == '.' && words[end - 1] == "st")))
      ++end;
    holidays_[i] = find_holiday(std::span(words).subspan(i, end - i));
  }
}

// "last Easter", "this past Christmas", "last year's Halloween", "2022's Christmas": where the name begins, and of how
// many years ago it is. Returns whether something was said of the year.
TimeParser::HolidayYear TimeParser::holiday_opening(size_t i, size_t& name) const {
  const int now = civil(today_).year;
  size_t j = skip(i, Word::the);
  int y = 0;
  if (const size_t end = year(j, y); end && end < n_ && holidays_[end].words) {
    name = end;
    return {.said = true, .year = y};
  }
  const bool here = is(j, Word::this_);
  if (here) ++j;
  const bool last = is(j, Word::last) || is(j, Word::past) || is(j, Word::previous) ||
                    (is(j, Word::most) && is(j + 1, Word::recent));
  if (last) j += is(j, Word::most) ? 2 : 1;
  name = j;
  if (last) return {.said = true, .before_today = true};
  if (here) return {.said = true, .year = now};
  return {};
}

// With nothing before it a holiday may be what was talked about: "about Christmas", "Halloween-themed" are no time;
// "on Christmas", "Boxing Day's chat", "Halloween: who …?" and "what did we say Christmas Eve?" are.
bool TimeParser::holiday_is_time(size_t i, size_t end) const {
  if (excepting_ && sentence_end(end)) return true;
  if (i > 0 && preposition(i - 1)) return !said(i - 1, "about");
  if (i > 1 && is(i - 1, Word::the) && preposition(i - 2)) return !said(i - 2, "about");
  if (i > 1 && (is(i - 1, Word::and_) || is(i - 1, Word::or_)))
    for (size_t k = 0; k + 1 < i; ++k)
      if ((holidays_[k].words && k + holidays_[k].words == i - 1) || is(k, Word::between)) return true;
  if (is(end, Lex::session) && t_[end].value == 0) return true;
  // "at Easter, Whitsun and Christmas": as the first of the list
  size_t list = i;
  for (size_t n = 0; n < kLongestList && list > 0 && t_[list].before == ','; ++n) {
    size_t words = 1;
    while (words < kLongestHolidayName && words < list && holidays_[list - words].words != words) ++words;
    if (words > list || holidays_[list - words].words != words) break;
    list -= words;
  }
  if (list < i) return list > 0 && preposition(list - 1) && !said(list - 1, "about");
  const bool apart = end < n_ && (t_[end].before == ':' || t_[end].before == ',' ||
                                  (t_[end].before == '-' && t_[end].begin > t_[end - 1].end + 1));
  const bool first = i == 0 || t_[i].starts || (i == 1 && (is(0, Word::the) || is(0, Word::and_)));
  if (first && (end >= n_ || apart)) return true;
  const bool told = i > 0 && (is(i - 1, Word::mention) || is(i - 1, Word::talk));
  return told && sentence_end(end);
}

size_t TimeParser::holiday(size_t i, Period& out) const {
  if (i >= n_) return 0;
  size_t name = i;
  HolidayYear of = holiday_opening(i, name);
  if (name >= n_ || !holidays_[name].words || is(name, Lex::day_word)) return 0;
  const HolidayEntry& h = *holidays_[name].entry;
  size_t j = name + holidays_[name].words;
  const bool weekend = is_unit(j, Unit::weekend);
  if (weekend) ++j;
  int y = 0;
  const size_t with_year = year(j, y);
  if (with_year) {
    of = {.said = true, .year = y}, j = with_year;
  } else if (is(j, Word::before) && is(j + 1, Word::last)) {
    of = {.said = true, .before_today = true, .more = 1}, j += 2;
  }
  const bool said_year = of.said;
  if (!said_year && !holiday_is_time(i, j)) return 0;
  if (said_year && i > 0 && said(i - 1, "about") && !of.before_today) return 0;
  y = of.year ? of.year : civil(today_).year;
  if (y < 1583 || y > 4099) return 0;
  std::optional<Day> day = holiday_day(h, y);
  for (int tries = 0; !of.year && tries < 9 && (!day || *day > today_ || (of.before_today && *day >= today_));
       ++tries)
    day = holiday_day(h, --y);
  for (int more = of.more; more > 0 && day; --more) day = holiday_day(h, --y);
  if (!day) return 0;
  out = Period::days(*day, *day, Grain::day, "holiday");
  if (weekend) {  // that of a Monday is the one before it, and ends with it
    const Day saturday = weekday_of(*day) == 0 ? *day - 2 : week_begin(*day) + 5;
    out = Period::days(saturday, weekday_of(*day) == 0 ? *day : saturday + 1, Grain::week, "holiday");
  }
  out.absolute = true, out.year_said = with_year != 0 || of.year != 0;
  out.argument = &h - holidays().data();
  return j;
}

}  // namespace quern::memory
