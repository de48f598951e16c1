// Values of settings from text and as text, one pair of functions a type. A type of a room's own brings its own pair,
// beside its declaration; an enum whose values count from 0 brings their names, which files have too:
//
//   inline std::vector<std::string> setting_names(Scope) { return {"all", "across", "within"}; }
//
// parse_setting throws Error saying what the text is not: "'x' is not a number".
#pragma once
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "quern/base/error.h"
#include "quern/base/nearest.h"
#include "quern/base/setting.h"

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
template <class E>
concept NamedEnum = std::is_enum_v<E> && requires(E e) {
  setting_names(e);
};
std::string words_between(const std::vector<std::string>& words, const char* last);  // "a, b or c"
template <NamedEnum E>
void parse_setting(const std::string& text, E& out) {
  const std::vector<std::string> names = setting_names(E());
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) fail("'{}' is not {}{}", text, words_between(names, " or "), did_you_mean(text, names));
  out = static_cast<E>(found - names.begin());
}
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
template <NamedEnum E>
std::string setting_text(E v) {
  return setting_names(v).at(static_cast<size_t>(v));
}
template <class T>
auto setting_text(const std::optional<T>& v) -> decltype(setting_text(*v)) {
  return v ? setting_text(*v) : "";
}

// What is wrong with a number's value, an optional one's too; empty when nothing is, or it is no number.
template <class T>
std::string range_fault(const Bounds& range, const T& v) {
  if constexpr (std::is_arithmetic_v<T>)
    return bounds_fault(range, static_cast<double>(v));
  else
    return "";
}
template <class T>
std::string range_fault(const Bounds& range, const std::optional<T>& v) {
  return v ? range_fault(range, *v) : "";
}

}  // namespace quern
