#include "quern/text/tokenizer/byte_level.h"

#include "quern/text/unicode/utf8.h"

namespace quern::text {
namespace {

constexpr bool stands_for_itself(int b) { return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174; }

struct Tables {
  std::array<char32_t, 256> chars{};
  std::array<int16_t, 0x144> bytes{};
  std::array<std::string, 256> utf8;
  Tables() {
    bytes.fill(-1);
    char32_t next = 0x100;
    for (int b = 0; b < 256; ++b) {
      char32_t c = stands_for_itself(b) ? static_cast<char32_t>(b) : next++;
      chars[static_cast<size_t>(b)] = c;
      bytes[c] = static_cast<int16_t>(b);
      utf8_append(utf8[static_cast<size_t>(b)], c);
    }
  }
};

const Tables& tables() {
  static const Tables t;
  return t;
}

}  // namespace

const std::array<char32_t, 256>& byte_level_chars() { return tables().chars; }
int byte_of_char(char32_t cp) { return cp < 0x144 ? tables().bytes[cp] : -1; }

void to_byte_level(std::string_view bytes, std::string& out) {
  const auto& t = tables().utf8;
  for (char b : bytes) out += t[static_cast<unsigned char>(b)];
}

void from_byte_level(std::string_view token, std::string& out) {
  size_t start = out.size();
  for (size_t i = 0; i < token.size();) {
    Utf8Char c = utf8_at(token, i);
    int b = byte_of_char(c.cp);
    if (b < 0) {
      out.resize(start);
      out += token;
      return;
    }
    out += static_cast<char>(b);
    i += c.len;
  }
}

}  // namespace quern::text
