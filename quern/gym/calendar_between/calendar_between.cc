// Environment `calendar_between`: days from one date to another of the Gregorian calendar, the date and the weekday some
// days later; up to 40 d + 30 days.
#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

struct CalendarDate {
  int64_t year, month, day;  // month from 0
  bool operator==(const CalendarDate&) const = default;
};

bool is_leap(int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

int64_t days_of(int64_t year, int64_t month) {
  constexpr int64_t kDays[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return kDays[month] + (month == 1 && is_leap(year) ? 1 : 0);
}

std::string text_of(const CalendarDate& d) {
  return fmt::format("{} {} {}", d.day, kMonths[static_cast<size_t>(d.month)], d.year);
}

// Monday is 0; the days since Monday, 1 January 1900.
int64_t weekday(const CalendarDate& d) {
  int64_t days = d.day - 1;
  for (int64_t y = 1900; y < d.year; ++y) days += is_leap(y) ? 366 : 365;
  for (int64_t m = 0; m < d.month; ++m) days += days_of(d.year, m);
  return days % 7;
}

// Month by month, or year by year where a whole one is left.
CalendarDate days_later(CalendarDate d, int64_t n, std::string& steps) {
  int64_t passed = 0;
  while (n - passed > days_of(d.year, d.month) - d.day) {
    const int64_t year = is_leap(d.month > 1 ? d.year + 1 : d.year) ? 366 : 365;
    if (d.day == 1 && n - passed >= year) {
      passed += year, ++d.year;
    } else {
      passed += days_of(d.year, d.month) - d.day + 1;
      d = {d.year + (d.month + 1) / 12, (d.month + 1) % 12, 1};
    }
    steps += fmt::format("To {}: {} days. ", text_of(d), passed);
  }
  d.day += n - passed;
  steps += fmt::format("To {}: {} days.", text_of(d), n);
  return d;
}

// "7 may 2024", "may 7, 2024", "2024-05-07"
std::optional<CalendarDate> date_in(std::string text) {
  if (text.size() == 10 && text[4] == '-' && text[7] == '-') {
    const auto y = answer_number(text.substr(0, 4)), m = answer_number(text.substr(5, 2)),
               d = answer_number(text.substr(8));
    if (!y || !m || !d || *m < 1) return {};
    return CalendarDate{*y, *m - 1, *d};
  }
  std::vector<std::string> words = answer_words(text);
  if (words.size() != 3) return {};
  if (!answer_number(words[0])) std::swap(words[0], words[1]);
  const auto day = answer_number(words[0]), year = answer_number(words[2]);
  for (size_t m = 0; m < 12 && day && year; ++m)
    if (final_answer(kMonths[m]) == words[1]) return CalendarDate{*year, static_cast<int64_t>(m), *day};
  return {};
}

class CalendarBetween : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    CalendarDate from{between(r, 1990, 2039), between(r, 0, 11), 1};
    from.day = between(r, 1, days_of(from.year, from.month));
    const int64_t n = between(r, difficulty == 0 ? 3 : 40 * difficulty - 10, 40 * difficulty + 30);
    Problem p;
    const CalendarDate to = days_later(from, n, p.steps);
    const auto day_name = [](const CalendarDate& d) { return kWeekdays[static_cast<size_t>(weekday(d))]; };
    p.key = fmt::format("{} {}", text_of(from), n);
    switch (r.below(3)) {
      case 0:
        p.question = fmt::format("How many days after {} is {}?", text_of(from), text_of(to));
        p.answer = std::to_string(n);
        break;
      case 1:
        p.question =
            fmt::format("Which date is {} days after {}? Write it like {}.", n, text_of(from), text_of(from));
        p.answer = text_of(to);
        break;
      default:
        p.question = fmt::format("{} is a {}. Which weekday is {}?", text_of(from), day_name(from), text_of(to));
        p.steps += fmt::format(" {} = 7 * {} + {}: {} days after {} is {}.", n, n / 7, n % 7, n % 7, day_name(from),
                               day_name(to));
        p.answer = std::string(day_name(to));
    }
    return p;
  }

  Verdict verify(const Problem& p, std::string_view reply) const override {
    const auto right = date_in(final_answer(p.answer));
    if (!right) return answer_number(p.answer) ? judge_number(p, reply) : Environment::verify(p, reply);
    const auto given = date_in(final_answer(reply));
    if (!given) return {0, "the answer is not a date"};
    if (*given == *right) return {1, "the date is right"};
    return {0, fmt::format("expected '{}'", p.answer)};
  }
};

}  // namespace

void register_calendar_between(EnvironmentRegistry& r) {
  r.add("calendar_between", "days between dates, dates and weekdays some days later",
        std::make_unique<CalendarBetween>(), "time and calendars");
}

}  // namespace quern::gym
