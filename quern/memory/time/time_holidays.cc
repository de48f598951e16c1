// Holidays: their days, their names, and when a name means the day.
#include "quern/memory/time/time_parser.h"

namespace quern::memory {

namespace {

// Holidays of two words, by how these begin; "day" may follow, or is the second word.
struct HolidayWords {
  std::string_view first, second;
  Holiday holiday;
};
constexpr HolidayWords kTwoWords[] = {
    {"mother", "day", Holiday::mothers_day},    {"father", "day", Holiday::fathers_day},
    {"memorial", "day", Holiday::memorial_day}, {"independence", "day", Holiday::independence},
    {"boxing", "day", Holiday::boxing_day},     {"labor", "day", Holiday::labor_day},
    {"labour", "day", Holiday::labor_day},      {"may", "day", Holiday::may_day},
    {"bastille", "day", Holiday::bastille},     {"unity", "day", Holiday::unity_day},
    {"midsummer", "day", Holiday::midsummer},   {"st", "patrick", Holiday::patrick},
    {"saint", "patrick", Holiday::patrick},     {"april", "fool", Holiday::april_fools},
    {"three", "king", Holiday::epiphany},       {"black", "friday", Holiday::black_friday},
    {"good", "friday", Holiday::good_friday},   {"all", "saint", Holiday::all_saints},
    {"st", "nicholas", Holiday::st_nicholas},   {"saint", "nicholas", Holiday::st_nicholas},
    {"st", "john", Holiday::midsummer}};

}  // namespace

// The token behind the name of a holiday; 0 where there is none.
size_t TimeParser::holiday_name(size_t i, Holiday& h) const {
  size_t j = i;
  auto begins = [&](size_t k, std::string_view what) { return k < n_ && w_.spelling(k).starts_with(what); };
  auto eve = [&](size_t k) { return said(k, "eve") || said(k, "eve's"); };
  if (is(j, Lex::holiday)) {
    h = static_cast<Holiday>(t_[j++].value);
    if (h == Holiday::christmas && eve(j)) h = Holiday::christmas_eve, ++j;
    if (is(j, Word::day) || is_unit(j, Unit::day)) ++j;
    if (h == Holiday::easter && is(j, Lex::weekday) && t_[j].value == 6) ++j;
    if (h == Holiday::easter && is(j, Lex::weekday) && t_[j].value == 0) h = Holiday::easter_monday, ++j;
    return j;
  }
  if (begins(j, "new") && is(j + 1, Word::year)) {
    j += 2;
    h = eve(j) ? Holiday::new_years_eve : Holiday::new_year;
    return eve(j) || is(j, Word::day) ? j + 1 : j;
  }
  for (const HolidayWords& w : kTwoWords)
    if (begins(j, w.first) && (w.second == "day" ? is(j + 1, Word::day) : begins(j + 1, w.second))) {
      h = w.holiday;
      return w.second != "day" && is(j + 2, Word::day) ? j + 3 : j + 2;
    }
  if (said(j, "epiphany") || said(j, "midsummer")) {
    h = said(j, "epiphany") ? Holiday::epiphany : Holiday::midsummer;
    return is(j + 1, Word::day) ? j + 2 : j + 1;
  }
  return 0;
}

std::optional<Day> TimeParser::holiday_in(Holiday h, int y) const {
  auto nth = [&](int month, int weekday, int n) {
    const Day first = day_of(y, month, 1);
    return first + (weekday - weekday_of(first) + 7) % 7 + 7 * (n - 1);
  };
  auto last = [&](int month, int weekday) {
    const Day end = day_of(y, month, month_length(y, month));
    return end - (weekday_of(end) - weekday + 7) % 7;
  };
  switch (h) {
    case Holiday::new_year:
      return day_of(y, 1, 1);
    case Holiday::new_years_eve:
      return day_of(y, 12, 31);
    case Holiday::valentine:
      return day_of(y, 2, 14);
    case Holiday::patrick:
      return day_of(y, 3, 17);
    case Holiday::easter:
      return easter(y);
    case Holiday::mothers_day:
      return nth(5, 6, 2);
    case Holiday::memorial_day:
      return last(5, 0);
    case Holiday::fathers_day:
      return nth(6, 6, 3);
    case Holiday::independence:
      return day_of(y, 7, 4);
    case Holiday::labor_day:
      return nth(9, 0, 1);
    case Holiday::halloween:
      return day_of(y, 10, 31);
    case Holiday::thanksgiving:
      return nth(11, 3, 4);
    case Holiday::black_friday:
      return nth(11, 3, 4) + 1;
    case Holiday::christmas_eve:
      return day_of(y, 12, 24);
    case Holiday::christmas:
      return day_of(y, 12, 25);
    case Holiday::boxing_day:
      return day_of(y, 12, 26);
    case Holiday::april_fools:
      return day_of(y, 4, 1);
    case Holiday::epiphany:
      return day_of(y, 1, 6);
    case Holiday::may_day:
      return day_of(y, 5, 1);
    case Holiday::good_friday:
      return easter(y) - 2;
    case Holiday::easter_monday:
      return easter(y) + 1;
    case Holiday::all_saints:
      return day_of(y, 11, 1);
    case Holiday::st_nicholas:
      return day_of(y, 12, 6);
    case Holiday::midsummer:
      return day_of(y, 6, 24);
    case Holiday::bastille:
      return day_of(y, 7, 14);
    case Holiday::unity_day:
      return day_of(y, 10, 3);
  }
  return std::nullopt;
}

// A holiday counts as a date only behind a preposition of time: "about Christmas" is a topic.
size_t TimeParser::holiday(size_t i, Period& out) const {
  if (i >= n_) return 0;
  const bool last = is(i, Word::last), here = is(i, Word::this_);
  size_t j = last || here ? i + 1 : i;
  const bool range = i > 2 && (is(i - 1, Word::and_) || is(i - 1, Word::or_)) &&
                     (is(i - 2, Lex::holiday) || is(i - 2, Word::day) || is(i - 3, Word::between));
  const bool articled = i > 1 && is(i - 1, Word::the) && preposition(i - 2) && !said(i - 2, "about");
  const bool led = range || articled || (i > 0 && preposition(i - 1) && !said(i - 1, "about"));
  const bool bare = j == i && !led;
  if (is(j, Lex::day_word) || j >= n_) return 0;
  Holiday h = Holiday::new_year;
  j = holiday_name(j, h);
  if (!j) return 0;
  // With nothing before it a holiday may be what was talked about: not in "Boxing Day's chat", nor as a heading.
  const bool chat = is(j, Lex::session) && t_[j].value == 0;
  const bool apart = j < n_ && t_[j].before == '-' && t_[j].begin > t_[j - 1].end + 1;  // not in Halloween-themed
  const bool alone = i == 0 && j >= n_;                                                 // "New Year's?"
  const bool heading = alone || (i == 0 && j < n_ && (t_[j].before == ':' || apart));
  if (bare && !chat && !heading) return 0;
  int y = 0;
  if (const size_t with_year = year(j, y)) {
    j = with_year;
  } else {
    y = civil(today_).year;
    if (*holiday_in(h, y) > today_ || (last && *holiday_in(h, y) >= today_)) --y;
    if (here) y = civil(today_).year;
  }
  if (y < 1583 || y > 4099) return 0;
  out = Period::days(*holiday_in(h, y), *holiday_in(h, y), Grain::day, "holiday");
  if (is_unit(j, Unit::weekend)) {
    const Day saturday = week_begin(out.first()) + 5;
    out = Period::days(saturday, saturday + 1, Grain::week, "holiday"), ++j;
  }
  out.absolute = true;
  return j;
}

}  // namespace quern::memory
