// Days of holidays: against the Python packages holidays and lunardate (tests/memory/holidays.txt, by
// tools/oracles/memory/feasts.py), and by definition. Names: every one is found again, and none is another's.
#include "quern/memory/time/holidays.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "quern/memory/time/moon_calendar.h"

namespace quern::memory {
namespace {

std::vector<std::string> words_of(const std::string& name) {
  std::istringstream in(name);
  std::vector<std::string> out;
  for (std::string w; in >> w;) out.push_back(holiday_word(w));
  return out;
}

std::string day_in(const std::string& name, int year) {
  const std::vector<std::string> words = words_of(name);
  const HolidayFound f = find_holiday(words);
  if (!f.entry || f.words != words.size()) return "no such name";
  const auto d = holiday_day(*f.entry, year);
  return d ? date_text(*d) : "no such day";
}

TEST(Holidays, AgreeWithOtherPrograms) {
  std::ifstream f(std::string(QUERN_SOURCE_DIR) + "/tests/memory/holidays.txt");
  ASSERT_TRUE(f.good());
  std::map<std::string, int> compared;
  std::string date, name;
  while (f >> date && std::getline(f >> std::ws, name)) {
    EXPECT_EQ(day_in(name, std::stoi(date.substr(0, 4))), date) << name;
    ++compared[name];
  }
  EXPECT_GE(compared.size(), 35u);
  for (const auto& [of, n] : compared) EXPECT_GE(n, 18) << of;
}

TEST(Holidays, FeastsThatMove) {
  EXPECT_EQ(day_in("Shrove Tuesday", 2024), "no such name");  // names are in lower case
  EXPECT_EQ(day_in("shrove tuesday", 2024), "2024-02-13");
  EXPECT_EQ(day_in("whitsun", 2023), "2023-05-28");
  EXPECT_EQ(day_in("first advent", 2023), "2023-12-03");
  EXPECT_EQ(day_in("first advent", 2022), "2022-11-27");
  EXPECT_EQ(day_in("fourth advent", 2023), "2023-12-24");
  EXPECT_EQ(day_in("french mother's day", 2023), "2023-06-04");  // Whitsun on the last Sunday of May
  EXPECT_EQ(day_in("french mother's day", 2024), "2024-05-26");
  EXPECT_EQ(day_in("mothering sunday", 2024), "2024-03-10");
  EXPECT_EQ(day_in("cyber monday", 2023), "2023-11-27");
  EXPECT_EQ(day_in("dongzhi", 2023), "2023-12-22");
  EXPECT_EQ(day_in("leap day", 2023), "no such day");
}

TEST(Holidays, NamesAreFoundAgain) {
  std::set<std::string> seen;
  for (const HolidayEntry& h : holidays()) {
    std::istringstream names{std::string(h.names)};
    for (std::string name; std::getline(names, name, '|');) {
      const std::vector<std::string> words = words_of(name);
      EXPECT_LE(words.size(), kLongestHolidayName) << name;
      EXPECT_EQ(find_holiday(words).entry, &h) << name;
      EXPECT_EQ(find_holiday(words).words, words.size()) << name;
      EXPECT_TRUE(seen.insert(name).second) << name;
    }
  }
  EXPECT_EQ(holiday_word("presidents'"), holiday_word("president's"));
  EXPECT_EQ(holiday_word("christmas's"), holiday_word("christmas"));
}

TEST(MoonCalendar, LeapMonthsAndBounds) {
  EXPECT_EQ(date_text(*moon_day(2023, 3, 1)), "2023-04-20");   // behind a leap second month
  EXPECT_EQ(date_text(*moon_day(2034, 1, 1)), "2034-02-19");   // the leap month that calendars of 1990 had wrong
  EXPECT_EQ(date_text(*moon_day(2024, 12, 8)), "2024-01-18");  // before the new year
  EXPECT_FALSE(moon_day(1800, 1, 1));
  EXPECT_FALSE(moon_day(2024, 13, 1));
  EXPECT_FALSE(solar_term(15, 2101));
}

}  // namespace
}  // namespace quern::memory
