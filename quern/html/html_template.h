// HTML from templates. A template file is a row of fragments, each behind a line `<!-- #name -->`; what stands before
// the first is a comment. In a fragment, {{key}} becomes the value's text, escaped, and {{{key}}} the value as it is,
// for HTML made from other fragments. Line breaks and indentation are for people: next to a tag or placeholder they
// vanish, within text they become a blank.
//
//   const HtmlTemplate page(web_file("corpus_report.html"));
//   page.fill("tile", {{"value", 12}, {"what", "clusters"}})
#pragma once
#include <fmt/format.h>

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace quern::html {

std::string escape_html(std::string_view text);  // for text and attributes; control characters become U+FFFD

struct HtmlValue {
  std::string_view key;
  std::string text;
  template <class T>
  HtmlValue(std::string_view k, const T& value) : key(k) {
    if constexpr (std::is_convertible_v<const T&, std::string_view>)
      text = std::string_view(value);
    else
      text = fmt::format("{}", value);
  }
};

class HtmlTemplate {
 public:
  explicit HtmlTemplate(std::string_view source);
  // The fragment and every key in it must exist, and every value must be used: a slip in either file is our bug.
  std::string fill(std::string_view fragment, std::initializer_list<HtmlValue> values = {}) const;

 private:
  struct Piece {
    std::string text, key;  // literal text, then a placeholder; the last piece has none
    bool raw = false;
  };
  std::map<std::string, std::vector<Piece>, std::less<>> fragments_;
};

}  // namespace quern::html
