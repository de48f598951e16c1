// A number as people write it: groups of digits with a space, a hyphen, a dot, a slash or parentheses between. Read
// once from where it begins; telephone and card numbers are then decided on the groups.
#pragma once
#include <array>
#include <cstddef>
#include <initializer_list>
#include <string_view>

#include "quern/corpus/bytes/ascii.h"

namespace quern::corpus {

struct DigitGroups {
  static constexpr size_t kMaxGroups = 10, kMaxDigits = 26;
  struct Group {
    size_t begin = 0, end = 0;  // bytes
    char before = 0;  // the separator before it: ' ' - . / ( ) or 0; '!' for two in a row that do not belong
    size_t size() const { return end - begin; }
  };
  std::array<Group, kMaxGroups> group;
  size_t count = 0;
  size_t with_spaced =
      0;  // count, and the groups behind a hyphen or a slash with spaces around it, as in "030 / 123"

  size_t digits(size_t groups) const {
    size_t n = 0;
    for (size_t k = 0; k < groups; ++k) n += group[k].size();
    return n;
  }
  bool sizes(std::initializer_list<size_t> expected) const {
    if (count < expected.size()) return false;
    size_t k = 0;
    for (const size_t n : expected)
      if (group[k++].size() != n) return false;
    return true;
  }
  // Whether groups 1 to n - 1 stand behind the same separator, one of `allowed`.
  bool one_separator(size_t n, std::string_view allowed) const {
    for (size_t k = 1; k < n; ++k)
      if (group[k].before != group[1].before) return false;
    return n < 2 || allowed.find(group[1].before) != allowed.npos;
  }
};

// From s[at], a digit without one before it.
inline DigitGroups digit_groups_at(std::string_view s, size_t at) {
  DigitGroups g;
  size_t i = at, digits = 0;
  char before = 0;
  bool spaced = false;
  while (g.with_spaced < DigitGroups::kMaxGroups) {
    const size_t begin = i;
    while (i < s.size() && ascii_digit(s[i])) ++i;
    if (i == begin || (digits += i - begin) > DigitGroups::kMaxDigits) break;
    g.group[g.with_spaced++] = {begin, i, before};
    if (!spaced) g.count = g.with_spaced;
    // Up to three bytes: " ", "-", ") ", " (", ")-", a no-break space, a hyphen of two kinds, an en dash.
    before = 0;
    if (const std::string_view sign = s.substr(i, 3); sign == " / " || sign == " - ") {
      before = sign[1], spaced = true, i += 3;
      if (i < s.size() && ascii_digit(s[i])) continue;
      break;
    }
    for (int k = 0; k < 3 && i < s.size() && !ascii_digit(s[i]); ++k) {
      char c = s[i];
      size_t length = 1;
      if (s.substr(i, 2) == "\u00a0") c = ' ', length = 2;
      if (const auto three = s.substr(i, 3); three == "\u2010" || three == "\u2011" || three == "\u2013")
        c = '-', length = 3;
      if (c != ' ' && c != '-' && c != '.' && c != '/' && c != '(' && c != ')') break;
      const bool bracket = c == '(' || c == ')';
      if (before == 0 || (bracket && before != '(' && before != ')')) {
        before = c;
      } else if (bracket || (before != '(' && before != ')')) {
        before = '!';
      }
      i += length;
    }
    if (before == 0 || before == '!' || i >= s.size() || !ascii_digit(s[i])) break;
  }
  return g;
}

// Whether a number that begins here is the end of a longer one, or of a word.
inline bool number_came_before(std::string_view s, size_t begin) {
  if (begin == 0) return false;
  const char c = s[begin - 1];
  if (ascii_alnum(c) || c == '_') return true;
  return (c == '-' || c == '.' || c == ',' || c == '/') && begin > 1 && ascii_alnum(s[begin - 2]);
}

// Whether a number that ends here goes on: a letter, or a sign with a digit behind it.
inline bool number_goes_on(std::string_view s, size_t end, std::string_view signs = "-./:,") {
  if (end >= s.size()) return false;
  if (ascii_alnum(s[end]) || s[end] == '_' || s[end] == '@' || s[end] == '%') return true;
  return signs.find(s[end]) != signs.npos && end + 1 < s.size() && ascii_digit(s[end + 1]);
}

}  // namespace quern::corpus
