// Unicode properties and normal forms; utf8proc has the tables, only in unicode.cc. The character classes follow
// Rust's `char` methods and its regex crate, because the reference tokenizer is built on them. Cost: normalization is
// linear, and text that is clearly in the form already (ASCII, Han, Hangul …) is only scanned.
#pragma once
#include <string>
#include <string_view>

namespace quern::text {

enum class NormalForm { nfc, nfd, nfkc, nfkd };
void unicode_normalize(std::string& text, NormalForm form);
void unicode_lowercase(std::string& text);
void unicode_uppercase(std::string& text);
void unicode_strip_accents(std::string& text);  // drops every character of category M
// Where the extended grapheme cluster that begins at `from` ends.
size_t unicode_grapheme_end(std::string_view text, size_t from);
char32_t unicode_lower(char32_t cp);
char32_t unicode_upper(char32_t cp);
char32_t unicode_title(char32_t cp);

bool unicode_is_space(char32_t cp);       // White_Space
bool unicode_is_number(char32_t cp);      // Nd, Nl, No
bool unicode_is_digit(char32_t cp);       // Nd
bool unicode_is_letter(char32_t cp);      // L*
bool unicode_is_cased(char32_t cp);       // Lu, Ll, Lt
bool unicode_is_punct(char32_t cp);       // P*, and all ASCII punctuation
bool unicode_is_nonspacing(char32_t cp);  // Mn
bool unicode_is_other(char32_t cp);       // Cc, Cf, Co
bool unicode_is_word(char32_t cp);        // \w: alphabetic, M, Nd, Pc, join controls

// The same as of Unicode 8, for tokenizers whose reference knows no later version (unicode8.cc).
bool unicode8_is_nonspacing(char32_t cp);
bool unicode8_is_other(char32_t cp);
bool unicode8_is_punct(char32_t cp);

}  // namespace quern::text
