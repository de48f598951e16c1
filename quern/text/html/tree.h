// A page as a tree of elements and texts, in document order: what lies below node i are the nodes i + 1 … end − 1.
// Elements that HTML closes by itself (p, li, td, …) are closed, closing tags without an element are passed over, and
// deeper nesting than kMaxDepth is flat. Texts are views of the page, with their character references. Cost: linear.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "quern/text/html/scanner.h"

namespace quern::text {

struct HtmlNode {
  HtmlTag tag = HtmlTag::other;
  uint32_t parent = 0, end = 0;
  uint32_t attributes = 0, attributes_end = 0;  // in HtmlTree::attributes
  std::string_view text;                        // of a text node
};

struct HtmlTree {
  static constexpr size_t kMaxDepth = 256;
  std::vector<HtmlNode> nodes;            // the first one is the page
  std::vector<HtmlAttribute> attributes;  // class, id, role, itemprop, style, hidden, aria-hidden
  std::span<const HtmlAttribute> attributes_of(const HtmlNode& n) const {
    return std::span(attributes).subspan(n.attributes, n.attributes_end - n.attributes);
  }
  bool is_text(size_t i) const { return nodes[i].tag == HtmlTag::text; }
};

void parse_html(std::string_view page, HtmlTree& tree);  // reuses the buffers of `tree`

}  // namespace quern::text
