// What the names of an element's classes and its attributes say about it: main text, boilerplate, comments, hidden.
// Names are cut into words ("post-footer", "postFooter" → post, footer), and words and pairs of words are looked up.
#pragma once
#include <cstdint>

#include "quern/text/html/tree.h"

namespace quern::text {

struct HtmlMarks {
  // How surely this is the main text: by a usual name (content), a likely one (article), one that stands for nothing else
  // (entry-content), or by itemprop="articleBody".
  enum : uint8_t { kNothing, kPerhaps, kLikely, kSurely, kDeclared };
  uint8_t content = kNothing;
  bool boilerplate = false;  // navigation, sharing, related pages, advertising, …
  bool comments = false;     // of readers
  bool teaser = false;       // the lead of this page, or a few words about another
  bool hidden = false;
};

HtmlMarks marks_of(const HtmlTree& tree, const HtmlNode& node);

}  // namespace quern::text
