// The main text of a web page: what its author wrote for this page, without navigation, side bars, sharing buttons,
// comments, related pages and advertising. Headings, paragraphs, list items ("- "), rows of tables (cells joined by
// " | ") and code keep their lines.
//
// Elements that names or kinds call boilerplate are left out, unless they hold most of the page's paragraphs. Of the
// rest, one element is chosen: by name (articleBody, entry-content, <article>, …) if enough of the paragraphs lie in it,
// otherwise by descending from the page to wherever most of them lie. Within it, blocks that are mostly links go.
// Cost: linear.
#pragma once
#include <string>
#include <string_view>

namespace quern::text {

struct MainText {
  std::string text;   // empty: the page has none
  std::string title;  // of the page
};

MainText main_text(std::string_view page);  // valid UTF-8; never fails

}  // namespace quern::text
