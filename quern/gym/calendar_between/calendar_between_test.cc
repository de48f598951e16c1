// Dates are worked out again with the calendar of the standard library.
#include <gtest/gtest.h>

#include <chrono>

#include "quern/gym/problem_words.h"
#include "quern/gym/verifier_checks.h"

namespace quern::gym {
namespace {

using Words = std::vector<std::string>;

std::chrono::sys_days date_of(const std::string& text) {
  std::istringstream in(text);
  int day = 0, year = 0;
  std::string month;
  in >> day >> month >> year;
  const auto m = static_cast<unsigned>(std::ranges::find(kMonths, month) - kMonths.begin()) + 1;
  return std::chrono::year(year) / static_cast<int>(m) / day;
}

std::string text_of(std::chrono::sys_days date) {
  const std::chrono::year_month_day d(date);
  return fmt::format("{} {} {}", static_cast<unsigned>(d.day()), kMonths[static_cast<unsigned>(d.month()) - 1],
                     static_cast<int>(d.year()));
}

std::string weekday_of(std::chrono::sys_days date) {
  return std::string(kWeekdays[std::chrono::weekday(date).iso_encoding() - 1]);
}

Words expected(const std::string& q) {
  static const std::regex days("after (.*) is (.*)\\?"), date("Which date is (\\d+) days after ([^?]*)\\?"),
      weekday("^(.*) is a (\\w+)\\. Which weekday is (.*)\\?");
  std::smatch m;
  if (std::regex_search(q, m, date))
    return plain_answer_words(text_of(date_of(m[2]) + std::chrono::days(std::stoi(m[1]))));
  if (std::regex_search(q, m, weekday))
    return m[2] == weekday_of(date_of(m[1])) ? plain_answer_words(weekday_of(date_of(m[3]))) : Words{};
  if (std::regex_search(q, m, days)) return {std::to_string((date_of(m[2]) - date_of(m[1])).count())};
  return {};
}

// Two words in the other order are the same date: "may 7 2024". Commas stand between words of a date only.
bool is_right(const Problem& p, const std::string& given) {
  const Words right = expected(p.question);
  Words words = plain_answer_words(given);
  if (right.size() == 1 && given.find_first_of(" ,;") != given.npos) return false;
  if (right.size() == 3 && words.size() == 3 && words[0] == right[1]) std::swap(words[0], words[1]);
  return !right.empty() && words == right;
}

TEST(CalendarBetween, IsRight) { check_verifier("calendar_between", is_right); }
TEST(CalendarBetween, HasTheProperties) { check_environment("calendar_between"); }

TEST(CalendarBetween, ReadsDatesInThreeForms) {
  const NamedEnvironment& e = plugin_environments().find("calendar_between");
  const Problem p{.answer = "7 May 2024"};
  for (const char* form : {"7 May 2024", "May 7, 2024", "2024-05-07", "07 may 2024"})
    EXPECT_EQ(e.verify(p, form).reward, 1) << form;
  for (const char* form : {"7 May 2025", "May 8, 2024", "2024-07-05", "2024-00-07", "7 5 2024", "May 2024"})
    EXPECT_EQ(e.verify(p, form).reward, 0) << form;
}

}  // namespace
}  // namespace quern::gym
