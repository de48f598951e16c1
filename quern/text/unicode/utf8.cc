#include "quern/text/unicode/utf8.h"

namespace quern::text {

Utf8Step utf8_step(std::string_view s, size_t i) {
  auto byte = [&](size_t k) { return static_cast<unsigned char>(s[k]); };
  unsigned char c = byte(i);
  if (c < 0x80) return {1, true, false};
  if (c < 0xC2 || c > 0xF4) return {1, false, false};
  uint32_t need = c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
  // The second byte's range excludes overlong forms, surrogates and what lies past U+10FFFF.
  unsigned char lo = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
  unsigned char hi = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
  for (uint32_t k = 1; k < need; ++k) {
    if (i + k >= s.size()) return {k, false, true};
    unsigned char x = byte(i + k);
    if (x < lo || x > hi) return {k, false, false};
    lo = 0x80;
    hi = 0xBF;
  }
  return {need, true, false};
}

void utf8_append(std::string& out, char32_t cp) {
  auto put = [&](char32_t b) { out += static_cast<char>(b); };
  if (cp < 0x80) {
    put(cp);
  } else if (cp < 0x800) {
    put(0xC0 | cp >> 6);
    put(0x80 | (cp & 0x3F));
  } else if (cp < 0x10000) {
    put(0xE0 | cp >> 12);
    put(0x80 | (cp >> 6 & 0x3F));
    put(0x80 | (cp & 0x3F));
  } else {
    put(0xF0 | cp >> 18);
    put(0x80 | (cp >> 12 & 0x3F));
    put(0x80 | (cp >> 6 & 0x3F));
    put(0x80 | (cp & 0x3F));
  }
}

size_t ascii_run(std::string_view s, size_t from) {
  size_t i = from;
  for (; i + 8 <= s.size(); i += 8) {
    uint64_t w;
    std::memcpy(&w, s.data() + i, 8);
    if (w & 0x8080808080808080u) break;
  }
  while (i < s.size() && static_cast<unsigned char>(s[i]) < 0x80) ++i;
  return i - from;
}

size_t utf8_error(std::string_view s) {
  size_t i = ascii_run(s, 0);
  while (i < s.size()) {
    Utf8Step t = utf8_step(s, i);
    if (!t.ok) return i;
    i += t.len;
    if (i < s.size() && static_cast<unsigned char>(s[i]) < 0x80) i += ascii_run(s, i);
  }
  return std::string_view::npos;
}

size_t utf8_length(std::string_view s) {
  size_t n = 0;
  for (char c : s) n += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return n;
}

std::string utf8_lossy(std::string_view s, size_t* replaced) {
  std::string out;
  out.reserve(s.size());
  size_t bad = 0;
  for (size_t i = 0; i < s.size();) {
    Utf8Step t = utf8_step(s, i);
    if (t.ok) {
      out.append(s, i, t.len);
    } else {
      out += "\xEF\xBF\xBD";
      ++bad;
    }
    i += t.len;
  }
  if (replaced) *replaced = bad;
  return out;
}

}  // namespace quern::text
