// UTF-8: stepping, validating, writing. Text inside the library is always valid UTF-8; inputs are checked with
// utf8_error() or replaced, visibly, with utf8_lossy(). One ill-formed sequence is one "maximal subpart" in the sense
// of the Unicode standard (ch. 3, table 3-8), so that replacement agrees with Rust's and Python's. Cost: linear.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace quern::text {

struct Utf8Step {
  uint32_t len;  // bytes of the character, or of the ill-formed subpart
  bool ok;       // well-formed
  bool cut;      // ill-formed only because the text ended
};
Utf8Step utf8_step(std::string_view s, size_t i);  // i < s.size(); any bytes

struct Utf8Char {
  char32_t cp;
  uint32_t len;
};

// The character at s[i] of valid UTF-8.
inline Utf8Char utf8_at(std::string_view s, size_t i) {
  auto b = [&](size_t k) { return static_cast<uint32_t>(static_cast<unsigned char>(s[i + k])); };
  uint32_t c = b(0);
  if (c < 0x80) return {c, 1};
  if (c < 0xE0) return {(c & 0x1F) << 6 | (b(1) & 0x3F), 2};
  if (c < 0xF0) return {(c & 0x0F) << 12 | (b(1) & 0x3F) << 6 | (b(2) & 0x3F), 3};
  return {(c & 0x07) << 18 | (b(1) & 0x3F) << 12 | (b(2) & 0x3F) << 6 | (b(3) & 0x3F), 4};
}

// The character that ends before s[end], end > 0, of valid UTF-8.
inline Utf8Char utf8_before(std::string_view s, size_t end) {
  size_t i = end - 1;
  while (i > 0 && (static_cast<unsigned char>(s[i]) & 0xC0) == 0x80) --i;
  return utf8_at(s, i);
}

void utf8_append(std::string& out, char32_t cp);
size_t utf8_error(std::string_view s);   // offset of the first ill-formed byte, npos when valid
size_t utf8_length(std::string_view s);  // characters of valid UTF-8

// Every ill-formed subpart becomes U+FFFD; `replaced` counts them.
std::string utf8_lossy(std::string_view s, size_t* replaced = nullptr);

// Bytes before the first one at or after `from` that is not ASCII.
size_t ascii_run(std::string_view s, size_t from);

}  // namespace quern::text
