// POSIX time zone rule, which applies after the end of a zone's table: standard and summer offset, and the two days of
// the year when the clock changes. Jn (no leap days), n, and Mm.w.d dates; times from −167 to 167 hours.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "quern/memory/time/calendar.h"

namespace quern::memory {

class PosixRule {
 public:
  static std::optional<PosixRule> parse(std::string_view text);  // nothing when the text is no rule
  int32_t offset_at(int64_t utc) const;

 private:
  struct Change {
    enum class Kind { julian, day, month_week } kind = Kind::month_week;
    int month = 0, week = 0, day = 0;
    int32_t second = 7200;
  };
  static bool parse_change(std::string_view& s, Change& c);
  static LocalSeconds change_in(const Change& c, int year);
  int32_t standard_ = 0, summer_ = 0;
  bool has_summer_ = false;
  Change begin_, end_;
};

}  // namespace quern::memory
