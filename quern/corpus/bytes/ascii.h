// ASCII: whether a text is all of it, 64 bytes at a time without an early exit inside, so that the compiler vectorizes
// it; letters, digits, words in any case of letters.
#pragma once
#include <algorithm>
#include <cstddef>
#include <string_view>

namespace quern::corpus {

inline bool is_ascii(std::string_view s) {
  size_t i = 0;
  for (; i + 64 <= s.size(); i += 64) {
    unsigned char any = 0;
    for (size_t k = 0; k < 64; ++k) any |= static_cast<unsigned char>(s[i + k]);
    if (any & 0x80) return false;
  }
  unsigned char any = 0;
  for (; i < s.size(); ++i) any |= static_cast<unsigned char>(s[i]);
  return !(any & 0x80);
}

constexpr bool ascii_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool ascii_letter(char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }
constexpr bool ascii_alnum(char c) { return ascii_digit(c) || ascii_letter(c); }
// -1: none.
constexpr int hex_digit(char c) {
  if (ascii_digit(c)) return c - '0';
  if ((c | 32) >= 'a' && (c | 32) <= 'f') return (c | 32) - 'a' + 10;
  return -1;
}
constexpr char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

inline bool same_ascii_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return ascii_lower(x) == ascii_lower(y); });
}

}  // namespace quern::corpus
