// Feasts and holidays: their names in English, and their days. Names of other languages are put into these
// (wording/holiday_names.cc); a name that means another day in another country stands here with its country.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "quern/memory/time/calendar.h"

namespace quern::memory {

enum class HolidayRule : uint8_t {
  fixed,         // month, day
  nth,           // month, weekday, which: -1 is the last
  last_before,   // month, day, weekday: the last one before that date
  easter,        // days after Easter Sunday
  advent,        // which Sunday of Advent
  moon,          // month and day of the Chinese calendar
  sun,           // degrees of the sun's longitude
  french_mother  // the last Sunday of May; the first of June where that is Whitsun
};

struct HolidayEntry {
  std::string_view names;  // separated by |; without apostrophes, and no word ends in s (see holiday_word)
  HolidayRule rule;
  int a = 0, b = 0, c = 0;
  int later = 0;  // days behind what the rule says
};

std::span<const HolidayEntry> holidays();
std::optional<Day> holiday_day(const HolidayEntry& h, int year);
// "Presidents'", "president's" and "presidents" are one word of a name.
std::string holiday_word(std::string_view lower);
// The longest name that begins with these words; how many they are, 0 where there is none.
struct HolidayFound {
  const HolidayEntry* entry = nullptr;
  size_t words = 0;
};
HolidayFound find_holiday(std::span<const std::string> words);
constexpr size_t kLongestHolidayName = 6;

}  // namespace quern::memory
