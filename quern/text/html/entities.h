// Character references of HTML ("&eacute;", "&#233;", "&#xE9;"): the one table of names, that of HTML 4 and the more
// usual ones of HTML 5, and the bytes 0x80 to 0x9F of Windows-1252, which pages mean when they say Latin-1.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quern::text {

char32_t named_character(std::string_view name);  // 0: none of that name
char32_t windows1252(unsigned char byte);
// "233" or "xE9"; at most 0x110000, which is no character. Nothing when these are no digits.
std::optional<uint32_t> reference_number(std::string_view digits);

struct CharacterReference {
  std::string_view name;  // or the digits of a number
  bool number = false;
  size_t bytes = 0;  // with & and ; — 0: none
};
CharacterReference read_reference(std::string_view s, size_t i);  // s[i] == '&'

// Appends the character that the reference at s[i] == '&' stands for and returns its bytes; 0 when it is none. Numbers and
// the old names may lack their semicolon, as in browsers. A non-breaking space is a space and a soft hyphen nothing.
size_t append_entity(std::string_view s, size_t i, std::string& out);

}  // namespace quern::text
