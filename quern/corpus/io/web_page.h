// Web pages as documents: an HTML file, or an HTTP response of a WARC file, as its main text.
#pragma once
#include <string>
#include <string_view>

namespace quern::corpus {

struct WebPage {
  enum class Outcome { text, empty, other_type, damaged, too_long };
  Outcome outcome = Outcome::text;
  std::string text, title;
  std::string license;     // the address that its markup states (text/html/page_license.h)
  std::string type;        // "text/html"; of other types, what it is: "image/png", "HTTP 404"
  std::string why;         // it is damaged
  bool truncated = false;  // the body ends early
  bool replaced = false;   // U+FFFD was put in
  bool guessed = false;    // nothing said its encoding, and it is not UTF-8
};

enum class PageForm { html, response };
// `maximum`: bytes of an unpacked body. Reuses the buffers of `page`.
void read_page(PageForm form, std::string_view bytes, size_t maximum, WebPage& page);

}  // namespace quern::corpus
