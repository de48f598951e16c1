// GPT-2's byte-level alphabet: each byte is represented by a printable character, so that a vocabulary of any bytes
// can be written as text. Printable Latin-1 characters represent themselves; the other 68 bytes use U+0100 … U+0143 in
// order.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace quern::text {

const std::array<char32_t, 256>& byte_level_chars();
int byte_of_char(char32_t cp);                                 // -1 when the character stands for no byte
void to_byte_level(std::string_view bytes, std::string& out);  // appends
// Appends the bytes a token stands for; a token with any other character stands for its own UTF-8.
void from_byte_level(std::string_view token, std::string& out);

}  // namespace quern::text
