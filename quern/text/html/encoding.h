// The encoding of a web page and its text as UTF-8. In order: a byte order mark; what the server said; what the page says of
// itself in its first bytes; UTF-8 where the bytes are that; a guess by the bytes (guess_encoding.h); Windows-1252. Bytes that are valid UTF-8 and not all ASCII
// are UTF-8, whatever is said: pages are moved to it more often than their headers. A page is never lost: what cannot
// be converted is U+FFFD, and counted. Conversions are iconv's. Cost: linear.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace quern::text {

struct DecodedPage {
  std::string_view text;  // valid UTF-8: the bytes themselves, or `buffer`
  std::string encoding;   // its name, in lower case
  size_t replaced = 0;    // U+FFFD put in
  bool guessed = false;   // nothing said it, and it is not UTF-8
};

// `declared`: by the server, may be empty. The text is a view of `bytes` or of `buffer`.
DecodedPage decode_page(std::string_view bytes, std::string_view declared, std::string& buffer);

// "text/html; charset=utf-8" → "utf-8"; empty: none.
std::string_view charset_of(std::string_view content_type);
std::string_view declared_charset(std::string_view page);  // in a meta element or an XML declaration

}  // namespace quern::text
