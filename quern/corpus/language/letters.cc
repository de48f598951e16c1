#include "quern/corpus/language/letters.h"

#include "quern/text/unicode/unicode.h"

namespace quern::corpus {
namespace {

constexpr uint16_t kBeyond = 0xFFFF;

// By code point: the symbol, or 0 for what lies between words.
const uint16_t* symbols() {
  static const std::vector<uint16_t> table = [] {
    std::vector<uint16_t> t(0x10000);
    for (char32_t c = 1; c < 0x10000; ++c) {
      if (c >= 0xD800 && c < 0xE000) continue;
      if (!text::unicode_is_word(c) || text::unicode_is_number(c) || c == '_') continue;
      const char32_t low = text::unicode_lower(c);
      t[c] = static_cast<uint16_t>(low < 0x10000 ? low : c);
    }
    return t;
  }();
  return table.data();
}

}  // namespace

void read_letters(std::string_view utf8, std::vector<uint16_t>& out) {
  const uint16_t* symbol = symbols();
  out.resize(utf8.size() + 2);
  uint16_t* to = out.data();
  *to = kWordGap;
  const auto* p = reinterpret_cast<const unsigned char*>(utf8.data());
  const auto* end = p + utf8.size();
  // to: the last symbol written, and whether it is a letter. A gap behind a gap is written over it.
  unsigned letter = 0;
  const auto put = [&](uint16_t s) {
    const unsigned now = s != 0;
    to += now | letter;
    *to = now ? s : kWordGap;
    letter = now;
  };
  while (p < end) {
    const unsigned c = *p;
    if (c < 0x80) {
      put(symbol[c]), ++p;
    } else if (c < 0xE0) {
      put(symbol[(c & 0x1F) << 6 | (p[1] & 0x3F)]), p += 2;
    } else if (c < 0xF0) {
      put(symbol[(c & 0x0F) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu)]), p += 3;
    } else {
      put(kBeyond), p += 4;
    }
  }
  put(0);
  const auto n = static_cast<size_t>(to - out.data()) + 1;
  out.resize(n > 1 ? n : 0);
}

}  // namespace quern::corpus
