// The encoding of bytes that are not UTF-8 and of which nothing says what they are: by how many of their characters are
// among the few that every text of a language repeats, in each encoding in turn. Knows those in which most letters lie beyond
// ASCII (Cyrillic, Greek, Hebrew, Arabic, Thai, Chinese, Japanese, Korean); Western and Central European ones differ in too
// few bytes to be told apart like this. Reads 16 KiB from the first byte
// beyond ASCII on.
#pragma once
#include <string_view>

namespace quern::text {

std::string_view guess_encoding(std::string_view bytes);  // as iconv calls it; empty: none of them
bool looks_like_iso_2022_jp(std::string_view bytes);      // seven bits, with escapes to and from Japanese

}  // namespace quern::text
