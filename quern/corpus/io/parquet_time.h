// Dates and times of a Parquet file as ISO 8601, so that they keep their unit in JSON: days since 1970 are "2024-02-29",
// milli-, micro- and nanoseconds since midnight "23:59:59.999", and since 1970 "2024-02-29T23:59:59.999Z", without the Z
// where the file does not say that they are UTC. Years have at least four digits, and a sign outside of 0 to 9999.
#pragma once
#include <cstdint>
#include <string>

namespace quern::corpus::parquet {

struct TimeForm {
  enum class Kind : uint8_t { none, date, time, timestamp } kind = Kind::none;
  int digits = 0;  // of a second: 3, 6 or 9
  bool utc = false;
};

// With its quotes.
void append_time(const TimeForm& form, int64_t value, std::string& line);

}  // namespace quern::corpus::parquet
