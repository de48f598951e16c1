// Environment `dates`: weekdays, clock times, and dates of a year without a leap day; from difficulty 5 on dates over
// ever more months, every year having 365 days.
#include "quern/base/error.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

constexpr int64_t kDaysIn[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

std::string clock(int64_t minutes) { return fmt::format("{}:{:02}", minutes / 60 % 24, minutes % 60); }

Problem weekday(Rng& r, int64_t d) {
  const int64_t day = between(r, 0, 6), n = d == 0 ? between(r, 1, 6) : between(r, 8, 60);
  const bool back = d == 1 && r.below(2) == 1;
  const int64_t weeks = n / 7, rest = n % 7, then = (day + (back ? 7 - rest : rest)) % 7;
  Problem p{.answer = std::string(kWeekdays[static_cast<size_t>(then)]), .key = fmt::format("day {} {}", day, n)};
  p.question = fmt::format("Today is {}. What day {} {} day{} {}?", kWeekdays[static_cast<size_t>(day)],
                           back ? "was it" : "is it", n, n == 1 ? "" : "s", back ? "ago" : "from now");
  p.steps =
      weeks > 0 ? fmt::format("{} days are {} week{} and {} days. ", n, weeks, weeks == 1 ? "" : "s", rest) : "";
  p.steps += fmt::format("{}", kWeekdays[static_cast<size_t>(day)]);
  for (int64_t k = 1; k <= rest; ++k)
    p.steps += fmt::format(", {}", kWeekdays[static_cast<size_t>((day + (back ? 7 - k : k)) % 7)]);
  p.steps += ".";
  return p;
}

Problem clock_time(Rng& r) {
  const int64_t start = 5 * between(r, 72, 260), n = 5 * between(r, 3, 35), end = start + n,
                to_hour = 60 - start % 60;
  Problem p{.answer = clock(end), .key = fmt::format("clock {} {}", start, n)};
  p.question = fmt::format("It is {}. What time is it {} minutes later?", clock(start), n);
  if (n < to_hour) {
    p.steps = fmt::format("{} + {} = {} minutes, less than an hour: {}.", start % 60, n, start % 60 + n, clock(end));
  } else {
    p.steps = fmt::format("{} minutes to {}. {} - {} = {} minutes are left. {} hours and {} minutes: {}.", to_hour,
                          clock(start + to_hour), n, to_hour, n - to_hour, (n - to_hour) / 60, (n - to_hour) % 60,
                          clock(end));
  }
  return p;
}

Problem date(Rng& r, int64_t d) {
  const size_t month = r.below(d == 3 ? 10 : d == 4 ? 8 : 12);  // up to difficulty 4 never past December
  const int64_t further = 50 * (d - 4), day = between(r, 1, kDaysIn[month]),
                n = d == 3 ? between(r, 20, 45) : between(r, 60 + further, 110 + further);
  size_t m = month;
  int64_t at = day, left = n;
  std::string steps;
  while (left > kDaysIn[m] - at) {
    const int64_t stay = kDaysIn[m] - at;
    steps += fmt::format("{} has {} days: {} to its end, {} - {} = {}. ", kMonths[m], kDaysIn[m], stay, left, stay,
                         left - stay);
    left -= stay, at = 0, m = (m + 1) % 12;
  }
  at += left;
  steps += fmt::format("So {} {}.", kMonths[m], at);
  if (d == 4 && r.below(2) == 1)
    return {.question = fmt::format("In a year without a leap day, how many days is it from {} {} to {} {}?",
                                    kMonths[month], day, kMonths[m], at),
            .steps =
                [&] {
                  std::string s = fmt::format("{} {} to its end: {} - {} = {}.", kMonths[month], day, kDaysIn[month],
                                              day, kDaysIn[month] - day);
                  int64_t sum = kDaysIn[month] - day;
                  for (size_t k = month + 1; k < m; ++k) {
                    s += fmt::format(" {}: {} + {} = {}.", kMonths[k], sum, kDaysIn[k], sum + kDaysIn[k]);
                    sum += kDaysIn[k];
                  }
                  return s + fmt::format(" {} {}: {} + {} = {}.", kMonths[m], at, sum, at, sum + at);
                }(),
            .answer = fmt::format("{} days", n),
            .key = fmt::format("date {} {} {}", month, day, n)};
  return {.question = fmt::format("{}, which date is {} days after {} {}?",
                                  d > 4 ? "If every year has 365 days" : "In a year without a leap day", n,
                                  kMonths[month], day),
          .steps = steps,
          .answer = fmt::format("{} {}", kMonths[m], at),
          .key = fmt::format("date {} {} {}", month, day, n)};
}

Problem dates(Rng& r, int64_t d) { return d <= 1 ? weekday(r, d) : d == 2 ? clock_time(r) : date(r, d); }

class Dates : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override { return dates(r, difficulty); }
};

}  // namespace

void register_dates(EnvironmentRegistry& r) {
  r.add("dates", "weekdays, clock times and dates of a year without a leap day", std::make_unique<Dates>(),
        "time and calendars");
}

}  // namespace quern::gym
