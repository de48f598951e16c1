// Extracts answers from responses, and normalizes them.
#include "quern/reason/answer.h"

#include <cctype>
#include <cstdint>
#include <numeric>

#include <fmt/format.h>

namespace quern::reason {
namespace {

constexpr std::string_view kClose = "</think>", kOpen = "<think>", kMark = "Answer:", kBox = "\\boxed{";

std::string_view trimmed(std::string_view s) {
  auto space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!s.empty() && space(s.front())) s.remove_prefix(1);
  while (!s.empty() && space(s.back())) s.remove_suffix(1);
  return s;
}

// The inside of the braces that open before `at`; nothing when they never close.
std::optional<std::string_view> braced(std::string_view s, size_t at) {
  int depth = 1;
  for (size_t i = at; i < s.size(); ++i) {
    depth += s[i] == '{' ? 1 : s[i] == '}' ? -1 : 0;
    if (depth == 0) return s.substr(at, i - at);
  }
  return std::nullopt;
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

std::string extract_answer(std::string_view response) {
  if (size_t close = response.rfind(kClose); close != response.npos)
    response.remove_prefix(close + kClose.size());
  else if (response.find(kOpen) != response.npos)
    return {};
  for (size_t box = response.rfind(kBox); box != response.npos;
       box = box == 0 ? response.npos : response.rfind(kBox, box - 1))
    if (auto inside = braced(response, box + kBox.size())) return std::string(trimmed(*inside));
  if (size_t mark = response.rfind(kMark); mark != response.npos) {
    response.remove_prefix(mark + kMark.size());
    return std::string(trimmed(response.substr(0, response.find('\n'))));
  }
  response = trimmed(response);
  if (size_t line = response.rfind('\n'); line != response.npos) response.remove_prefix(line + 1);
  return std::string(trimmed(response));
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
