// Dates and times of answers, in UTC.
#pragma once
#include <cstdint>
#include <string>

namespace quern::serve {

std::string rfc3339(int64_t unix_seconds);       // 2026-11-26T03:04:05Z
std::string rfc3339_micro(double unix_seconds);  // 2026-11-26T03:04:05.000006Z

}  // namespace quern::serve
