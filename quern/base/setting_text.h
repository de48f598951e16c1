// Values of settings from text and as text, one pair of functions a type. A type of a room's own brings its own pair,
// beside its declaration. parse_setting throws Error saying what the text is not: "'x' is not a number".
#pragma once
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "quern/base/error.h"

namespace quern {

template <class T>
requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) void parse_setting(const std::string& text, T& out) {
  T v{};
  const char *begin = text.data(), *end = begin + text.size();
  auto [at, error] = std::from_chars(begin, end, v);
  if constexpr (std::is_same_v<T, uint64_t>)  // a negative number stands for the bits it has
    if (int64_t negative = 0; text.starts_with('-')) {
      const auto r = std::from_chars(begin, end, negative);
      v = static_cast<uint64_t>(negative), at = r.ptr, error = r.ec;
    }
  if (error != std::errc() || at != end || text.empty())
    fail("'{}' is not {}", text, std::is_integral_v<T> ? "a whole number" : "a number");
  out = v;
}
inline void parse_setting(const std::string& text, std::string& out) { out = text; }
inline void parse_setting(const std::string& text, bool& out) {
  if (text != "true" && text != "false") fail("'{}' is not true or false", text);
  out = text == "true";
}
inline void parse_setting(const std::string& text, std::vector<std::string>& out) { out.push_back(text); }
template <class T>
auto parse_setting(const std::string& text, std::optional<T>& out) -> decltype(parse_setting(text, *out)) {
  T v{};
  parse_setting(text, v);
  out = std::move(v);
}

inline std::string setting_text(const std::string& v) { return v; }
inline std::string setting_text(bool v) { return v ? "true" : "false"; }
template <class T>
requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) std::string setting_text(T v) {
  return fmt::format("{}", v);
}

}  // namespace quern
