#include "quern/text/tokenizer/character_map.h"

#include <cstring>

#include "quern/base/error.h"
#include "quern/text/unicode/unicode.h"
#include "quern/text/unicode/utf8.h"

namespace quern::text {
namespace {

std::string base64_bytes(std::string_view text) {
  std::string out;
  uint32_t bits = 0;
  int held = 0;
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  for (char c : text) {
    const int v = c >= 'A' && c <= 'Z'   ? c - 'A'
                  : c >= 'a' && c <= 'z' ? c - 'a' + 26
                  : c >= '0' && c <= '9' ? c - '0' + 52
                  : c == '+'             ? 62
                  : c == '/'             ? 63
                                         : -1;
    if (v < 0) fail("tokenizer.json: precompiled_charsmap is not base64 (found '{}')", c);
    bits = bits << 6 | static_cast<uint32_t>(v);
    held += 6;
    if (held >= 8) out += static_cast<char>(bits >> (held -= 8) & 0xFF);
  }
  return out;
}

// Units of the array: bit 31 marks a value, bit 8 that a value hangs below, bit 9 that the offset counts in 256s.
bool has_leaf(uint32_t u) { return (u >> 8 & 1) != 0; }
uint32_t value(uint32_t u) { return u & 0x7FFFFFFF; }
uint32_t label(uint32_t u) { return u & 0x800000FF; }
uint32_t offset(uint32_t u) { return (u >> 10) << ((u & 0x200) >> 6); }

}  // namespace

CharacterMap CharacterMap::from_base64(std::string_view text) {
  const std::string bytes = base64_bytes(text);
  CharacterMap m;
  if (bytes.empty()) return m;
  uint32_t size = 0;
  if (bytes.size() >= 4) std::memcpy(&size, bytes.data(), 4);
  if (bytes.size() < 4 || size % 4 != 0 || size < 4 || size > bytes.size() - 4)
    fail("tokenizer.json: precompiled_charsmap: {} bytes with a table of {}", bytes.size(), size);
  m.units_.resize(size / 4);
  std::memcpy(m.units_.data(), bytes.data() + 4, size);
  m.replacements_ = bytes.substr(4 + size);
  if (size_t at = utf8_error(m.replacements_); at != std::string::npos)
    fail("tokenizer.json: precompiled_charsmap: replacements are not UTF-8 at byte {}", at);
  return m;
}

bool CharacterMap::find(std::string_view s, std::string_view& to) const {
  uint32_t at = offset(units_[0]);
  for (char c : s) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) return false;
    at ^= byte;
    if (at >= units_.size() || label(units_[at]) != byte) return false;
    const uint32_t unit = units_[at];
    at ^= offset(unit);
    if (at >= units_.size()) return false;
    if (!has_leaf(unit)) continue;
    const uint32_t begin = value(units_[at]);
    if (begin > replacements_.size()) fail("tokenizer.json: precompiled_charsmap: a replacement lies outside");
    to = std::string_view(replacements_).substr(begin);
    to = to.substr(0, to.find('\0'));
    if (utf8_error(to) != std::string_view::npos)
      fail("tokenizer.json: precompiled_charsmap: a replacement begins inside a character");
    return true;
  }
  return false;
}

void CharacterMap::rewrite(std::string_view grapheme, std::string& out) const {
  constexpr size_t kShort = 6;  // bytes below which the reference looks a whole grapheme up, by its shortest prefix
  std::string_view to;
  if (grapheme.size() < kShort && find(grapheme, to)) {
    out += to;
    return;
  }
  for (size_t i = 0; i < grapheme.size();) {
    const size_t n = utf8_at(grapheme, i).len;
    out += find(grapheme.substr(i, n), to) ? to : grapheme.substr(i, n);
    i += n;
  }
}

void CharacterMap::apply(std::string& text) const {
  if (units_.empty()) return;
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const size_t end = unicode_grapheme_end(text, i);
    rewrite(std::string_view(text).substr(i, end - i), out);
    i = end;
  }
  text = std::move(out);
}

}  // namespace quern::text
