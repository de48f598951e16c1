// Views of a field for a visit(), where the setting's value is not the field's: Mebibytes, a number of bytes that is set
// and shown in MiB, and OffSwitch, a switch that turns a field off (--no-count-bias). Flags, JSON and tables have the
// setting's value.
//
//   Mebibytes cache(cache_bytes);
//   OffSwitch no_count_bias(count_bias);
//   v("cache_mib", cache, "prefix cache size, in MiB", {.value = "MIB", .range = Bounds::at_least(0)});
//   v("no_count_bias", no_count_bias, "do not add the counts of rows to the attention logits");
#pragma once
#include <cstdint>
#include <string>

#include "quern/base/settings.h"

namespace quern {

struct Mebibytes {
  static constexpr int64_t kMax = int64_t{1} << 42;  // more has no number of bytes in 63 bits
  int64_t* bytes;
  explicit Mebibytes(int64_t& b) : bytes(&b) {}
  int64_t count() const { return *bytes >> 20; }
};

inline void parse_setting(const std::string& text, Mebibytes& out) {
  int64_t count = 0;
  parse_setting(text, count);
  if (count < -Mebibytes::kMax || count > Mebibytes::kMax) fail("'{}' is too large", text);
  *out.bytes = count * (int64_t{1} << 20);
}
inline void read_value(const Json& j, Mebibytes& out, const std::string& what) {
  const int64_t count = j.as_int(what);
  if (count < -Mebibytes::kMax || count > Mebibytes::kMax) fail("{}: {} is too large", what, count);
  *out.bytes = count * (int64_t{1} << 20);
}
inline Json write_value(const Mebibytes& v) { return Json(v.count()); }
inline std::string setting_text(const Mebibytes& v) { return setting_text(v.count()); }
inline std::string range_fault(const Bounds& range, const Mebibytes& v) { return range_fault(range, v.count()); }

struct OffSwitch {
  bool* on;
  explicit OffSwitch(bool& field) : on(&field) {}
};

inline void parse_setting(const std::string& text, OffSwitch& out) {
  bool off = false;
  parse_setting(text, off);
  *out.on = !off;
}
inline void read_value(const Json& j, OffSwitch& out, const std::string& what) { *out.on = !j.as_bool(what); }
inline Json write_value(const OffSwitch& v) { return Json(!*v.on); }
inline std::string setting_text(const OffSwitch& v) { return setting_text(!*v.on); }

namespace settings {
template <>
struct Inner<Mebibytes> {
  using type = int64_t;
};
template <>
struct Inner<OffSwitch> {
  using type = bool;
};
}  // namespace settings

}  // namespace quern
