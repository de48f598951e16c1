// Mojibake: text that was written as UTF-8 and read in another encoding, such as "schÃ¶n" and "donâ€™t". Repaired are the
// misreadings as Windows-1252 (Latin-1 too), Windows-1250, Windows-1251, Mac Roman and CP437, also one over another.
//
// A unit is a sequence of characters whose bytes in one of these encodings are one character of UTF-8. Most units are as
// unlikely in any language as they are long, but some are not: "É…", "avoué…»" and "NESTLÉ’s" hold units of Windows-1252. So
// a run of adjacent units is repaired when one of them is strong: it holds a control character, or a sign that does not stand
// behind a letter, or a change from lower to upper case in a place where words have none; with Cyrillic and Mac Roman, where
// single units are plausible, when several stand together. Where all characters of a line beyond ASCII are units of one
// encoding, one strong unit is enough for all of them. Lines are judged each for itself.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace quern::corpus {

// In which encodings a unit ends with the character `c` at utf8[at], a bit each; text without one needs no repair. The look
// at what is before `c` is rare: only few characters end units, and behind ASCII none does.
constexpr char32_t kMojibakeEnd = 0x2600;  // characters from here on are in no unit
const uint8_t* mojibake_endings();         // of a character below: the encodings in which it ends units
uint8_t units_ending(std::string_view utf8, size_t at, uint8_t endings);
inline uint8_t units_ending(std::string_view utf8, size_t at, char32_t c, const uint8_t* endings) {
  if (c >= kMojibakeEnd || endings[c] == 0 || at == 0 || (utf8[at - 1] & 0x80) == 0) return 0;
  return units_ending(utf8, at, endings[c]);
}
// Whether utf8[at] is a space that may have been the second byte of a unit.
inline bool space_in_unit(std::string_view utf8, size_t at) {
  return utf8[at] == ' ' && at >= 2 && utf8[at - 2] == '\xC3' && (utf8[at - 1] == '\x82' || utf8[at - 1] == '\x83');
}

// Where a unit ends first; npos: nothing is to be repaired. The text is valid UTF-8, `from` where a character begins.
size_t find_mojibake(std::string_view utf8, size_t from = 0);
// Whether anything was repaired; out: the repaired text, and undefined if nothing was.
bool repair_mojibake(std::string_view utf8, std::string& out);

}  // namespace quern::corpus
