// Arithmetic, dates and units: problems whose answer is computed.
#include <numeric>

#include "quern/base/error.h"
#include "quern/data/problem_words.h"
#include "quern/data/problems.h"

namespace quern::problems {
namespace {

// Operands without their order or operation: a set of numbers is trained on in every way or in none.
std::string key_of(std::vector<int64_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return fmt::format("{}", fmt::join(numbers, " "));
}

std::string add_steps(int64_t a, int64_t b) {
  const int64_t ta = a / 10 * 10, tb = b / 10 * 10, oa = a % 10, ob = b % 10;
  return fmt::format("{} + {} = {}. {} + {} = {}. {} + {} = {}.", ta, tb, ta + tb, oa, ob, oa + ob, ta + tb, oa + ob,
                     a + b);
}

std::string subtract_steps(int64_t a, int64_t b) {
  const int64_t tens = b / 10 * 10, ones = b % 10;
  return fmt::format("{} - {} = {}. {} - {} = {}.", a, tens, a - tens, a - tens, ones, a - b);
}

std::string multiply_steps(int64_t a, int64_t b) {  // b of two digits
  const int64_t tens = b / 10 * 10, ones = b % 10;
  return fmt::format("{} * {} = {}. {} * {} = {}. {} + {} = {}.", a, tens, a * tens, a, ones, a * ones, a * tens,
                     a * ones, a * b);
}

constexpr int64_t kDaysIn[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

std::string clock(int64_t minutes) { return fmt::format("{}:{:02}", minutes / 60 % 24, minutes % 60); }

Problem recipe(Rng& r) {
  const int64_t people = between(r, 2, 6), each = 5 * between(r, 5, 60), more = between(r, 7, 15);
  return {.question = fmt::format("A recipe for {} people takes {} g of flour. How many grams does it take for {} "
                                  "people?",
                                  people, people * each, more),
          .steps = fmt::format("For one: {} / {} = {} g. For {}: {} * {} = {} g.", people * each, people, each, more,
                               each, more, each * more),
          .answer = fmt::format("{} g", each * more),
          .key = fmt::format("recipe {} {} {}", people, each, more)};
}

}  // namespace

Problem arithmetic(Rng& r, int level) {
  auto asked = [](const std::string& e) { return fmt::format("What is {}?", e); };
  const bool other = r.below(2) == 1;
  if (level <= 2) {
    const int64_t a = level == 1 ? between(r, 0, 19) : between(r, 11, 99),
                  b = level == 1 ? between(r, 0, 19) : between(r, 11, 99), c = a + b;
    Problem p{.answer = std::to_string(other ? a : c), .key = key_of({a, b})};
    p.question = asked(other ? fmt::format("{} - {}", c, b) : fmt::format("{} + {}", a, b));
    if (level == 1)
      p.steps = other ? fmt::format("{} + {} = {}, so {} - {} = {}.", a, b, c, c, b, a)
                      : fmt::format("{} + {} = {}.", a, b, c);
    else
      p.steps = other ? subtract_steps(c, b) : add_steps(a, b);
    return p;
  }
  if (level == 3 || (level == 5 && !other)) {
    const int64_t a = level == 3 ? between(r, 3, 9) : between(r, 101, 999), b = between(r, 12, 99);
    return {.question = asked(fmt::format("{} * {}", a, b)),
            .steps = multiply_steps(a, b),
            .answer = std::to_string(a * b),
            .key = key_of({a, b})};
  }
  if (level == 4) {
    const int64_t a = between(r, 3, 12), b = between(r, 3, 19), c = between(r, 5, 60), d = between(r, 2, 30);
    return {.question = asked(fmt::format("{} * {} + {} - {}", a, b, c, d)),
            .steps = fmt::format("{} * {} = {}. {} + {} = {}. {} - {} = {}.", a, b, a * b, a * b, c, a * b + c,
                                 a * b + c, d, a * b + c - d),
            .answer = std::to_string(a * b + c - d),
            .key = key_of({a, b, c, d})};
  }
  const int64_t d = between(r, 6, 29), q = between(r, 11, 49), rest = between(r, 0, d - 1), n = d * q + rest,
                tens = q / 10 * 10;
  return {.question = fmt::format("Divide {} by {}. What are the quotient and the remainder?", n, d),
          .steps = fmt::format("{} * {} = {}. {} - {} = {}. {} * {} = {}. {} - {} = {}. {} + {} = {}.", d, tens,
                               d * tens, n, d * tens, n - d * tens, d, q - tens, d * (q - tens), n - d * tens,
                               d * (q - tens), rest, tens, q - tens, q),
          .answer = fmt::format("{} remainder {}", q, rest),
          .key = key_of({n, d})};
}

Problem dates(Rng& r, int level) {
  if (level <= 2) {
    const int64_t day = between(r, 0, 6), n = level == 1 ? between(r, 1, 6) : between(r, 8, 60);
    const bool back = level == 2 && r.below(2) == 1;
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
  if (level == 3) {
    const int64_t start = 5 * between(r, 72, 260), n = 5 * between(r, 3, 35), end = start + n,
                  to_hour = 60 - start % 60;
    Problem p{.answer = clock(end), .key = fmt::format("clock {} {}", start, n)};
    p.question = fmt::format("It is {}. What time is it {} minutes later?", clock(start), n);
    if (n < to_hour) {
      p.steps =
          fmt::format("{} + {} = {} minutes, less than an hour: {}.", start % 60, n, start % 60 + n, clock(end));
    } else {
      p.steps = fmt::format("{} minutes to {}. {} - {} = {} minutes are left. {} hours and {} minutes: {}.", to_hour,
                            clock(start + to_hour), n, to_hour, n - to_hour, (n - to_hour) / 60, (n - to_hour) % 60,
                            clock(end));
    }
    return p;
  }
  const size_t month = r.below(level == 4 ? 10 : 8);  // never past December
  const int64_t day = between(r, 1, kDaysIn[month]), n = level == 4 ? between(r, 20, 45) : between(r, 60, 110);
  size_t m = month;
  int64_t at = day, left = n;
  std::string steps;
  while (left > kDaysIn[m] - at) {
    const int64_t stay = kDaysIn[m] - at;
    steps += fmt::format("{} has {} days: {} to its end, {} - {} = {}. ", kMonths[m], kDaysIn[m], stay, left, stay,
                         left - stay);
    left -= stay, at = 0, ++m;
  }
  at += left;
  steps += fmt::format("So {} {}.", kMonths[m], at);
  if (level == 5 && r.below(2) == 1)
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
  return {.question =
              fmt::format("In a year without a leap day, which date is {} days after {} {}?", n, kMonths[month], day),
          .steps = steps,
          .answer = fmt::format("{} {}", kMonths[m], at),
          .key = fmt::format("date {} {} {}", month, day, n)};
}

Problem units(Rng& r, int level) {
  struct Unit {
    const char *large, *small;
    int64_t factor;
  };
  constexpr std::array<Unit, 6> kUnits = {{{"m", "cm", 100},
                                           {"km", "m", 1000},
                                           {"kg", "g", 1000},
                                           {"hours", "minutes", 60},
                                           {"l", "ml", 1000},
                                           {"days", "hours", 24}}};
  const Unit& u = kUnits[r.below(kUnits.size())];
  if (level == 1) {
    const int64_t n = between(r, 2, 40);
    return {.question = fmt::format("How many {} are {} {}?", u.small, n, u.large),
            .steps = fmt::format("{} * {} = {}.", n, u.factor, n * u.factor),
            .answer = fmt::format("{} {}", n * u.factor, u.small),
            .key = fmt::format("{} {}", u.large, n)};
  }
  if (level == 2) {
    const int64_t n = between(r, 2, 30), rest = between(r, 1, u.factor - 1), all = n * u.factor + rest;
    const bool up = r.below(2) == 1;
    Problem p{.key = fmt::format("{} {} {}", u.large, n, rest)};
    if (up) {
      p.question = fmt::format("Write {} {} as {} and {}.", all, u.small, u.large, u.small);
      p.steps = fmt::format("{} * {} = {}. {} - {} = {}.", n, u.factor, n * u.factor, all, n * u.factor, rest);
      p.answer = fmt::format("{} {} {} {}", n, u.large, rest, u.small);
    } else {
      p.question = fmt::format("How many {} are {} {} and {} {}?", u.small, n, u.large, rest, u.small);
      p.steps = fmt::format("{} * {} = {}. {} + {} = {}.", n, u.factor, n * u.factor, n * u.factor, rest, all);
      p.answer = fmt::format("{} {}", all, u.small);
    }
    return p;
  }
  if (level == 3) {
    const int64_t n = between(r, 2, 12), price = between(r, 2, 15), cost = n * price, paid = (cost / 50 + 1) * 50;
    const auto who = pick(r, kPeople), thing = pick(r, kThings);
    return {.question = fmt::format("A {} costs {} coins. {} buys {} of them and pays with {} coins. How many coins "
                                    "come back?",
                                    thing, price, who, n, paid),
            .steps = fmt::format("{} * {} = {}. {} - {} = {}.", n, price, cost, paid, cost, paid - cost),
            .answer = fmt::format("{} coins", paid - cost),
            .key = fmt::format("buy {} {} {}", thing, n, price)};
  }
  if (level == 4) {
    const int64_t speed = 6 * between(r, 2, 15), minutes = 10 * between(r, 3, 30), tenth = speed / 6;
    return {
        .question = fmt::format("A boat makes {} km an hour. How many km does it make in {} hours and {} minutes?",
                                speed, minutes / 60, minutes % 60),
        .steps = fmt::format("{} hours and {} minutes are {} minutes, {} times 10 minutes. In 10 minutes: {} / 6 = "
                             "{} km. {} * {} = {} km.",
                             minutes / 60, minutes % 60, minutes, minutes / 10, speed, tenth, tenth, minutes / 10,
                             tenth * minutes / 10),
        .answer = fmt::format("{} km", tenth * minutes / 10),
        .key = fmt::format("boat {} {}", speed, minutes)};
  }
  return recipe(r);
}

}  // namespace quern::problems
