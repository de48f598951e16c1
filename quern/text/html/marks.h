// What the names of an element's classes and its attributes say about it: main text, boilerplate, comments, hidden.
// Names are cut into words ("post-footer", "postFooter" → post, footer), and words and pairs of words are looked up.
#pragma once
#include <cstdint>

#include "quern/text/html/tree.h"

namespace quern::text {

struct HtmlMarks {
  uint8_t content = 0;  // how surely this is the main text by name: 1 (perhaps) to 4 (articleBody); 0: nothing said
  bool boilerplate = false;  // navigation, sharing, related pages, advertising, …
  bool comments = false;     // of readers
  bool teaser = false;       // the lead of this page, or a few words about another
  bool hidden = false;
};

HtmlMarks marks_of(const HtmlTree& tree, const HtmlNode& node);

}  // namespace quern::text
