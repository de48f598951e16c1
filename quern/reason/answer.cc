// Normalizes answers.
#include "quern/reason/answer.h"

#include <cctype>
#include <cstdint>
#include <numeric>

#include <fmt/format.h>

namespace quern::reason {
namespace {

using verify::trimmed;

std::optional<std::string_view> braced(std::string_view s, size_t at) {
  const auto end = verify::closing_brace(s, at);
  return end ? std::optional(s.substr(at, *end - at)) : std::nullopt;
}

// Digits with single commas between groups of three, or plain digits; moves past what it reads.
std::optional<int64_t> read_digits(std::string_view& s) {
  int64_t value = 0;
  size_t i = 0, digits = 0;
  for (; i < s.size(); ++i) {
    const bool comma = s[i] == ',' && digits > 0 && i + 3 < s.size() && std::isdigit(s[i + 1]) != 0 &&
                       std::isdigit(s[i + 2]) != 0 && std::isdigit(s[i + 3]) != 0 &&
                       (i + 4 >= s.size() || std::isdigit(s[i + 4]) == 0);
    if (comma) continue;
    if (s[i] < '0' || s[i] > '9') break;
    if (++digits > 15) return std::nullopt;  // past exact arithmetic: compared as text
    value = value * 10 + (s[i] - '0');
  }
  if (digits == 0) return std::nullopt;
  s.remove_prefix(i);
  return value;
}

std::optional<Fraction> lowest(int64_t top, int64_t bottom) {
  if (bottom == 0) return std::nullopt;
  if (bottom < 0) top = -top, bottom = -bottom;
  const int64_t g = std::gcd(top, bottom);
  return Fraction{top / g, bottom / g};
}

}  // namespace

std::optional<Fraction> read_number(std::string_view text) {
  text = trimmed(text);
  const bool minus = text.starts_with('-');
  if (minus || text.starts_with('+')) text.remove_prefix(1);
  if (text.starts_with("\\frac{") || text.starts_with("\\dfrac{")) {
    const size_t open = text.find('{') + 1;
    const auto top = braced(text, open);
    if (!top || open + top->size() + 2 > text.size() || text.substr(open + top->size(), 2) != "}{")
      return std::nullopt;
    const auto bottom = braced(text, open + top->size() + 2);
    if (!bottom || open + top->size() + bottom->size() + 3 != text.size()) return std::nullopt;
    const auto a = read_number(*top), b = read_number(*bottom);
    if (!a || !b || a->bottom != 1 || b->bottom != 1) return std::nullopt;
    return lowest(minus ? -a->top : a->top, b->top);
  }
  const auto whole = read_digits(text);
  if (!whole) return std::nullopt;
  int64_t top = *whole, bottom = 1;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    size_t digits = 0;
    for (; digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])) != 0; ++digits) {
      if (digits >= 8 || top > int64_t{1} << 55) return std::nullopt;
      top = top * 10 + (text[digits] - '0'), bottom *= 10;
    }
    if (digits == 0) return std::nullopt;
    text.remove_prefix(digits);
  } else if (text.starts_with('/')) {
    text.remove_prefix(1);
    const auto under = read_digits(text);
    if (!under) return std::nullopt;
    bottom = *under;
  }
  if (!text.empty()) return std::nullopt;
  return lowest(minus ? -top : top, bottom);
}

std::string normal_answer(std::string_view answer) {
  std::string s;
  for (char c : trimmed(answer)) {
    const unsigned char u = static_cast<unsigned char>(c);
    if (c == '$') continue;
    if (std::isspace(u) == 0)
      s += static_cast<char>(std::tolower(u));
    else if (!s.empty() && s.back() != ' ')
      s += ' ';
  }
  while (!s.empty() && (s.back() == ' ' || s.back() == '.')) s.pop_back();
  const auto number = read_number(s);
  if (!number) return s;
  return number->bottom == 1 ? std::to_string(number->top) : fmt::format("{}/{}", number->top, number->bottom);
}

}  // namespace quern::reason
