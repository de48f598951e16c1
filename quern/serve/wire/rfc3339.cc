// By the calendar of the standard library: fmt's formatter of times needs locales, which the Python wheel is built without.
#include "quern/serve/wire/rfc3339.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

namespace quern::serve {
namespace {

std::string date_and_time(int64_t unix_seconds) {
  const std::chrono::sys_seconds at{std::chrono::seconds(unix_seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(at - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), time.hours().count(),
                     time.minutes().count(), time.seconds().count());
}

}  // namespace

std::string rfc3339(int64_t unix_seconds) { return date_and_time(unix_seconds) + "Z"; }

std::string rfc3339_micro(double unix_seconds) {
  const double whole = std::floor(unix_seconds);
  return fmt::format("{}.{:06}Z", date_and_time(static_cast<int64_t>(whole)),
                     static_cast<int>(1e6 * (unix_seconds - whole)));
}

}  // namespace quern::serve
