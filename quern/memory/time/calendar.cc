#include "quern/memory/time/calendar.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "quern/base/error.h"

namespace quern::memory {
namespace {

namespace chr = std::chrono;

chr::year_month_day ymd(int y, int m, int d) {
  return {chr::year(y), chr::month(static_cast<unsigned>(m)), chr::day(static_cast<unsigned>(d))};
}

// Reads digits from the front of `s`: at least `low`, at most `high`.
std::optional<int> take_number(std::string_view& s, size_t low, size_t high) {
  size_t n = 0;
  int v = 0;
  while (n < s.size() && n < high && s[n] >= '0' && s[n] <= '9') v = v * 10 + (s[n++] - '0');
  if (n < low) return std::nullopt;
  s.remove_prefix(n);
  return v;
}

bool take(std::string_view& s, char c) {
  if (s.empty() || s[0] != c) return false;
  s.remove_prefix(1);
  return true;
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

}  // namespace

bool date_exists(int year, int month, int day) {
  return year >= 1 && year <= 9999 && month >= 1 && day >= 1 && ymd(year, month, day).ok();
}

int month_length(int year, int month) {
  QUERN_CHECK(month >= 1 && month <= 12, "month {}", month);
  const chr::year_month_day_last last{chr::year(year), chr::month_day_last(chr::month(static_cast<unsigned>(month)))};
  return static_cast<int>(static_cast<unsigned>(last.day()));
}

Day day_of(int year, int month, int day) {
  QUERN_CHECK(date_exists(year, month, day), "{}-{}-{}", year, month, day);
  return static_cast<Day>(chr::sys_days(ymd(year, month, day)).time_since_epoch().count());
}

Civil civil(Day d) {
  const chr::year_month_day c{chr::sys_days(chr::days(d))};
  return {static_cast<int>(c.year()), static_cast<int>(static_cast<unsigned>(c.month())),
          static_cast<int>(static_cast<unsigned>(c.day()))};
}

int weekday_of(Day d) { return static_cast<int>(chr::weekday(chr::sys_days(chr::days(d))).iso_encoding()) - 1; }

Day month_begin(Day d) { return d - civil(d).day + 1; }

Day add_months(Day d, int64_t n) {
  const Civil c = civil(d);
  const int64_t m = int64_t{c.year} * 12 + c.month - 1 + n;
  const int64_t year = m >= 0 ? m / 12 : -((-m + 11) / 12);
  if (year < 1) return day_of(1, 1, 1);
  if (year > 9999) return day_of(9999, 12, 31);
  const int month = static_cast<int>(m - year * 12) + 1;
  return day_of(static_cast<int>(year), month, std::min(c.day, month_length(static_cast<int>(year), month)));
}

Day week_begin(Day d) { return d - weekday_of(d); }

IsoWeek iso_week(Day d) {
  const Day thursday = week_begin(d) + 3;
  const int year = civil(thursday).year;
  return {year, (thursday - day_of(year, 1, 1)) / 7 + 1};
}

// The full moon on or after 21 March of the lunar calendar, then the next Sunday (Gauss's rule in Butcher's form).
Day easter(int year) {
  const int golden = year % 19, century = year / 100, rest = year % 100;
  const int leap_centuries = century / 4, moon_shift = (century - (century + 8) / 25 + 1) / 3;
  const int epact = (19 * golden + century - leap_centuries - moon_shift + 15) % 30;
  const int to_sunday = (32 + 2 * (century % 4) + 2 * (rest / 4) - epact - rest % 4) % 7;
  const int late = (golden + 11 * epact + 22 * to_sunday) / 451;
  const int n = epact + to_sunday - 7 * late + 114;
  return day_of(year, n / 31, n % 31 + 1);
}

const char* weekday_name(int weekday) {
  static constexpr std::array kNames = {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
  return kNames.at(static_cast<size_t>(weekday));
}

const char* month_name(int month) {
  static constexpr std::array kNames = {"January", "February", "March",     "April",   "May",      "June",
                                        "July",    "August",   "September", "October", "November", "December"};
  return kNames.at(static_cast<size_t>(month - 1));
}

std::string date_text(Day d) {
  const Civil c = civil(d);
  return fmt::format("{:04}-{:02}-{:02}", c.year, c.month, c.day);
}

std::string clock_text(int32_t s) { return fmt::format("{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60); }

std::string time_text(LocalSeconds s) {
  return fmt::format("{} {}", date_text(day_part(s)), clock_text(second_part(s)));
}

WrittenTime parse_time_text(std::string_view text, std::string_view what) {
  std::string_view s = trimmed(text);
  auto refuse = [&](std::string_view why) {
    fail("{}: '{}' is not a time{}; expected a form like 2023-05-08 13:56 or 2023-05-08T13:56:04+02:00", what,
         text.substr(0, 60), why);
  };
  const auto year = take_number(s, 4, 4);
  if (!year || !take(s, '-')) refuse("");
  const auto month = take_number(s, 1, 2);
  if (!month || !take(s, '-')) refuse("");
  const auto day = take_number(s, 1, 2);
  if (!day) refuse("");
  if (!date_exists(*year, *month, *day)) refuse(": that day does not exist");
  WrittenTime out{.local = day_of(*year, *month, *day) * kDaySeconds};
  if (s.empty()) return out;
  if (!take(s, 'T') && !take(s, ' ')) refuse("");
  const auto hour = take_number(s, 1, 2);
  if (!hour || !take(s, ':')) refuse("");
  const auto minute = take_number(s, 2, 2);
  if (!minute) refuse("");
  std::optional<int> second = 0;
  if (take(s, ':')) {
    second = take_number(s, 2, 2);
    if (second && take(s, '.')) take_number(s, 0, 18);
  }
  if (!second || *hour > 23 || *minute > 59 || *second > 59) refuse(": that hour does not exist");
  out.local += *hour * 3600 + *minute * 60 + *second;
  s = trimmed(s);
  if (s.empty()) return out;
  if (s == "Z" || s == "z") {
    out.offset = 0;
    return out;
  }
  const bool west = s[0] == '-';
  if (!take(s, '+') && !take(s, '-')) refuse("");
  const auto hours = take_number(s, 2, 2);
  take(s, ':');
  const auto minutes = s.empty() ? std::optional<int>(0) : take_number(s, 2, 2);
  if (!hours || !minutes || !s.empty() || *hours > 18 || *minutes > 59) refuse("");
  out.offset = (west ? -1 : 1) * (*hours * 3600 + *minutes * 60);
  return out;
}

std::string counted_text(size_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

}  // namespace quern::memory
