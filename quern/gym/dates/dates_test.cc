// Every answer is compared with the calendar of the standard library.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "quern/gym/answer_checks.h"
#include "quern/gym/check_environment.h"
#include "quern/gym/problem_checks.h"

namespace quern::gym {
namespace {

TEST(Dates, AgreeWithTheCalendar) {
  using namespace std::chrono;
  const std::vector<std::string> weekdays = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                             "Friday", "Saturday", "Sunday"};
  const std::vector<std::string> months = {"January", "February", "March",     "April",   "May",      "June",
                                           "July",    "August",   "September", "October", "November", "December"};
  auto index = [](const std::vector<std::string>& names, const std::string& s) {
    return std::find(names.begin(), names.end(), s) - names.begin();
  };
  auto date = [&](const std::string& month, const std::string& day) {
    return sys_days(year(2023) / static_cast<int>(index(months, month) + 1) / std::stoi(day));
  };
  each_problem("dates", [&](const Problem& p) {
    std::smatch m;
    if (std::regex_match(p.question, m,
                         std::regex("Today is (\\w+)\\. What day (?:is|was) it (\\d+) days? (.*)\\?"))) {
      const int64_t n = std::stoll(m[2]) * (m[3] == "ago" ? -1 : 1);
      EXPECT_EQ(p.answer, weekdays[static_cast<size_t>(((index(weekdays, m[1]) + n) % 7 + 7) % 7)]);
    } else if (std::regex_match(p.question, m, std::regex("It is (\\d+):(\\d\\d)\\. What time is it (\\d+) .*"))) {
      const int64_t t = std::stoll(m[1]) * 60 + std::stoll(m[2]) + std::stoll(m[3]);
      EXPECT_EQ(p.answer, fmt::format("{}:{:02}", t / 60 % 24, t % 60));
      expect_true_steps(p.steps);
    } else if (std::regex_match(p.question, m, std::regex(".*which date is (\\d+) days after (\\w+) (\\d+)\\?")) &&
               p.difficulty < 5) {
      const year_month_day then(date(m[2], m[3]) + days(std::stoi(m[1])));
      EXPECT_EQ(then.year(), year(2023));
      EXPECT_EQ(p.answer, fmt::format("{} {}", months[static_cast<unsigned>(then.month()) - 1],
                                      static_cast<unsigned>(then.day())));
      expect_true_steps(p.steps);
    } else if (p.difficulty > 4) {  // days of a year that always has 365
      ASSERT_TRUE(
          std::regex_match(p.question, m, std::regex("If .*which date is (\\d+) days after (\\w+) (\\d+)\\?")));
      const int64_t begin = (date(m[2], m[3]) - date("January", "1")).count();
      const year_month_day then(date("January", "1") + days((begin + std::stoll(m[1])) % 365));
      EXPECT_EQ(p.answer, fmt::format("{} {}", months[static_cast<unsigned>(then.month()) - 1],
                                      static_cast<unsigned>(then.day())));
      expect_true_steps(p.steps);
    } else {
      ASSERT_TRUE(std::regex_match(p.question, m, std::regex(".*is it from (\\w+) (\\d+) to (\\w+) (\\d+)\\?")));
      EXPECT_EQ(p.answer, fmt::format("{} days", (date(m[3], m[4]) - date(m[1], m[2])).count()));
      expect_true_steps(p.steps);
    }
  });
}

TEST(Dates, RefusesMutations) { check_mutations("dates", is_the_text); }
TEST(Dates, HasTheProperties) { check_environment("dates"); }

}  // namespace
}  // namespace quern::gym
