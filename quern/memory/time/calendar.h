// Dates and clock times without time zones. A Day counts from 1970-01-01; a local time counts seconds of a calendar
// without clock changes: day · 86400 + second of the day. The proleptic Gregorian calendar, weeks from Monday (ISO
// 8601).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quern::memory {

using Day = int32_t;
using LocalSeconds = int64_t;
constexpr int64_t kDaySeconds = 86400;
constexpr int64_t kFirstSecond = -62'135'596'800, kLastSecond = 253'402'300'799;  // of the years 1 to 9999

struct Civil {
  int year = 1970, month = 1, day = 1;
  bool operator==(const Civil&) const = default;
};
bool date_exists(int year, int month, int day);
int month_length(int year, int month);
Day day_of(int year, int month, int day);  // the date must exist
Civil civil(Day d);
int weekday_of(Day d);  // 0 is Monday
Day month_begin(Day d);
Day add_months(Day d, int64_t n);  // the same day of another month, or its last one when it is shorter
Day week_begin(Day d);             // Monday
struct IsoWeek {
  int year, week;
};
IsoWeek iso_week(Day d);
Day easter(int year);  // Sunday, western churches

inline Day day_part(LocalSeconds s) {
  return static_cast<Day>(s >= 0 ? s / kDaySeconds : -((-s + kDaySeconds - 1) / kDaySeconds));
}
inline int32_t second_part(LocalSeconds s) { return static_cast<int32_t>(s - day_part(s) * kDaySeconds); }

const char* weekday_name(int weekday);   // "Monday"
const char* month_name(int month);       // 1 is "January"
std::string date_text(Day d);            // 2023-05-08
std::string clock_text(int32_t second);  // 13:56:04
std::string time_text(LocalSeconds s);   // 2023-05-08 13:56:04

struct WrittenTime {
  LocalSeconds local = 0;
  std::optional<int32_t> offset = std::nullopt;  // seconds east of Greenwich, when the text says so
};
// "2023-05-08", "2023-05-08 13:56", "2023-05-08T13:56:04+02:00", "… Z". Throws Error naming `what`.
WrittenTime parse_time_text(std::string_view text, std::string_view what);

std::string counted_text(size_t n, std::string_view what);  // "1 turn", "2 turns"

}  // namespace quern::memory
