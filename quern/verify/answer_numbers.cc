#include "quern/verify/answer_numbers.h"

#include <algorithm>
#include <charconv>

#include "quern/verify/answer_text.h"

namespace quern::verify {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool all_digits(std::string_view s) { return !s.empty() && std::all_of(s.begin(), s.end(), is_digit); }

__int128 value_of(std::string_view digits) {
  __int128 v = 0;
  for (char c : digits) v = v * 10 + (c - '0');
  return v;
}

bool take_sign(std::string_view& s) {  // true: minus
  if (s.empty() || (s[0] != '-' && s[0] != '+')) return false;
  const bool minus = s[0] == '-';
  s.remove_prefix(1);
  return minus;
}

std::string digits_of(__int128 v) {
  if (v < 0) return "-" + digits_of(-v);
  std::string s;
  do s += static_cast<char>('0' + static_cast<int>(v % 10));
  while ((v /= 10) > 0);
  return {s.rbegin(), s.rend()};
}

}  // namespace

std::string without_groups(std::string_view s) {
  std::string out;
  size_t comma = s.find(',');
  if (comma == 0 || comma > 3) return {};
  out = s.substr(0, comma);
  for (; comma < s.size(); comma += 4) {
    const std::string_view group = s.substr(comma + 1, 3);
    if (s[comma] != ',' || group.size() != 3) return {};
    out += group;
  }
  return out;
}

std::optional<int64_t> answer_number(std::string_view text) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || digits.size() > 18 || digits.find_first_not_of("0123456789") != digits.npos) return {};
  int64_t n = 0;
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

std::optional<int64_t> answer_clock(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == text.npos || colon > 2 || text.size() != colon + 3 || text.find('-') != text.npos) return {};
  const auto hours = answer_number(text.substr(0, colon)), minutes = answer_number(text.substr(colon + 1));
  if (!hours || !minutes || *hours > 23 || *minutes > 59) return {};
  return *hours * 60 + *minutes;
}

std::optional<std::vector<int64_t>> answer_numbers(std::string_view text) {
  std::vector<int64_t> out;
  for (const std::string& word : answer_words(text)) {
    const auto n = answer_number(word);
    if (!n) return {};
    out.push_back(*n);
  }
  if (out.empty()) return {};
  return out;
}

std::optional<int64_t> integer_in(std::string_view text) {
  const bool minus = take_sign(text);
  std::string digits(text);
  if (text.size() <= 24 && text.find(',') != text.npos) digits = without_groups(text);
  if (digits.size() > 18 || !all_digits(digits)) return {};
  const auto v = static_cast<int64_t>(value_of(digits));
  return minus ? -v : v;
}

std::vector<int64_t> integers_in(std::string_view text) {
  if (text.size() >= 2 &&
      ((text.front() == '(' && text.back() == ')') || (text.front() == '[' && text.back() == ']')))
    text = text.substr(1, text.size() - 2);
  std::string flat;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool arrow = text.substr(i, 2) == "->";
    flat += arrow ? ' ' : text[i];
    i += arrow ? 1 : 0;
  }
  std::vector<int64_t> out;
  for (std::string_view piece : pieces_of(flat)) {
    const std::optional<int64_t> v = integer_in(piece);
    if (!v) return {};
    out.push_back(*v);
  }
  return out;
}

Ratio ratio_of(__int128 above, __int128 below) {
  if (below < 0) above = -above, below = -below;
  __int128 a = above < 0 ? -above : above, b = below;
  while (b != 0) {
    const __int128 rest = a % b;
    a = b, b = rest;
  }
  return {above / a, below / a};
}

Ratio operator+(const Ratio& a, const Ratio& b) {
  return ratio_of(a.above * b.below + b.above * a.below, a.below * b.below);
}
Ratio operator-(const Ratio& a, const Ratio& b) { return a + Ratio{-b.above, b.below}; }
Ratio operator*(const Ratio& a, const Ratio& b) { return ratio_of(a.above * b.above, a.below * b.below); }

std::string ratio_text(const Ratio& r) {
  return r.below == 1 ? digits_of(r.above) : digits_of(r.above) + "/" + digits_of(r.below);
}

std::optional<Ratio> ratio_in(std::string_view text) {
  if (std::count_if(text.begin(), text.end(), is_digit) > 36) return {};
  const bool minus = take_sign(text);
  if (text.starts_with(' ')) return {};
  const auto signed_ratio = [&](__int128 above, __int128 below) { return ratio_of(minus ? -above : above, below); };
  const size_t slash = text.find('/'), point = text.find('.');
  if (slash == text.npos) {
    if (point == text.npos) return all_digits(text) ? std::optional(signed_ratio(value_of(text), 1)) : std::nullopt;
    const std::string_view whole = text.substr(0, point), part = text.substr(point + 1);
    if (!all_digits(whole) || !all_digits(part)) return {};
    __int128 below = 1;
    for (size_t i = 0; i < part.size(); ++i) below *= 10;
    return signed_ratio(value_of(whole) * below + value_of(part), below);
  }
  std::string_view left = trimmed(text.substr(0, slash)), whole = "0";
  const std::string_view right = trimmed(text.substr(slash + 1));
  if (const size_t blank = left.find(' '); blank != left.npos)
    whole = left.substr(0, blank), left = trimmed(left.substr(blank));
  if (!all_digits(whole) || !all_digits(left) || !all_digits(right) || value_of(right) == 0) return {};
  return signed_ratio(value_of(whole) * value_of(right) + value_of(left), value_of(right));
}

}  // namespace quern::verify
