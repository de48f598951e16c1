#include "quern/corpus/io/parquet_time.h"

#include <fmt/format.h>

#include <iterator>

namespace quern::corpus::parquet {
namespace {

constexpr int64_t kDaySeconds = 86400;

int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b < 0); }

// Proleptic Gregorian. Years are counted from March, so that a leap day is a year's last: 146097 days in 400 years.
void append_date(int64_t days, std::string& line) {
  const int64_t since = days + 719468;  // 0000-03-01
  const int64_t era = floor_divide(since, 146097), day_of_era = since - era * 146097;
  const int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t month_from_march = (5 * day_of_year + 2) / 153;
  const int64_t day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
  const int64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
  const int64_t year = era * 400 + year_of_era + (month <= 2);
  const bool plain = year >= 0 && year <= 9999;
  fmt::format_to(std::back_inserter(line), "{}{:04}-{:02}-{:02}",
                 plain      ? ""
                 : year < 0 ? "-"
                            : "+",
                 year < 0 ? -year : year, month, day);
}

void append_clock(int64_t value, int digits, int64_t unit, std::string& line) {
  const int64_t seconds = value / unit;
  fmt::format_to(std::back_inserter(line), "{:02}:{:02}:{:02}.{:0{}}", seconds / 3600, seconds / 60 % 60,
                 seconds % 60, value % unit, digits);
}

}  // namespace

void append_time(const TimeForm& form, int64_t value, std::string& line) {
  int64_t unit = 1;  // a second
  for (int i = 0; i < form.digits; ++i) unit *= 10;
  const int64_t day = kDaySeconds * unit;
  line += '"';
  switch (form.kind) {
    case TimeForm::Kind::date:
      append_date(value, line);
      break;
    case TimeForm::Kind::time:
      append_clock(value < 0 ? 0 : value, form.digits, unit, line);
      break;
    default: {
      const int64_t days = floor_divide(value, day);
      append_date(days, line);
      line += 'T';
      append_clock(value - days * day, form.digits, unit, line);
    }
  }
  if (form.utc) line += 'Z';
  line += '"';
}

}  // namespace quern::corpus::parquet
