// A switch that turns a field off, for a flag such as --no-count-bias of a field that is on by default. In a visit():
//
//   OffSwitch no_count_bias(count_bias);
//   v("no_count_bias", no_count_bias, "do not add the counts of rows to the attention logits");
#pragma once
#include <string>

#include "quern/base/settings.h"

namespace quern {

struct OffSwitch {
  bool* on;
  explicit OffSwitch(bool& field) : on(&field) {}
};

inline void parse_setting(const std::string& text, OffSwitch& out) {
  bool off = false;
  parse_setting(text, off);
  *out.on = !off;
}
inline std::string setting_text(const OffSwitch& v) { return setting_text(!*v.on); }

namespace settings {
template <>
struct Inner<OffSwitch> {
  using type = bool;
};
}  // namespace settings

}  // namespace quern
