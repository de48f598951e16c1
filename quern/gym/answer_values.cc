#include "quern/gym/answer_values.h"

#include <algorithm>

#include "quern/base/error.h"

namespace quern::gym {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool all_digits(std::string_view s) { return !s.empty() && std::all_of(s.begin(), s.end(), is_digit); }

__int128 value_of(std::string_view digits) {
  __int128 v = 0;
  for (char c : digits) v = v * 10 + (c - '0');
  return v;
}

// "1,250" without its commas; empty where they do not part groups of three.
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

bool take_sign(std::string_view& s) {  // true: minus
  if (s.empty() || (s[0] != '-' && s[0] != '+')) return false;
  const bool minus = s[0] == '-';
  s.remove_prefix(1);
  return minus;
}

std::string_view trimmed(std::string_view s) {
  while (s.starts_with(' ')) s.remove_prefix(1);
  while (s.ends_with(' ')) s.remove_suffix(1);
  return s;
}

std::string digits_of(__int128 v) {
  if (v < 0) return "-" + digits_of(-v);
  std::string s;
  do s += static_cast<char>('0' + static_cast<int>(v % 10));
  while ((v /= 10) > 0);
  return {s.rbegin(), s.rend()};
}

Verdict compared(bool right, const Problem& p) {
  if (right) return {1, "right"};
  return {0, fmt::format("expected '{}'", p.answer)};
}

}  // namespace

std::optional<int64_t> integer_in(std::string_view text) {
  const bool minus = take_sign(text);
  std::string digits(text);
  if (text.size() <= 24 && text.find(',') != text.npos) digits = without_groups(text);
  if (digits.size() > 18 || !all_digits(digits)) return {};
  const auto v = static_cast<int64_t>(value_of(digits));
  return minus ? -v : v;
}

std::vector<std::string_view> pieces_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (size_t i = 0; i < text.size();) {
    const size_t end = std::min(text.find_first_of(",; ", i), text.size());
    if (end > i) out.push_back(text.substr(i, end - i));
    i = end + 1;
  }
  return out;
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

Verdict verify_integer(const Problem& p, std::string_view reply) {
  const std::optional<int64_t> v = integer_in(final_answer(reply));
  if (!v) return {0, "the answer is not one whole number"};
  return compared(v == integer_in(p.answer), p);
}

Verdict verify_integers(const Problem& p, std::string_view reply) {
  const std::vector<int64_t> v = integers_in(final_answer(reply));
  if (v.empty()) return {0, "the answer is not a list of whole numbers"};
  return compared(v == integers_in(p.answer), p);
}

Verdict verify_ratio(const Problem& p, std::string_view reply) {
  const std::optional<Ratio> v = ratio_in(final_answer(reply));
  if (!v) return {0, "the answer is not one number"};
  return compared(v == ratio_in(p.answer), p);
}

}  // namespace quern::gym
