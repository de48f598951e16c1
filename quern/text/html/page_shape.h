// A page measured: how much text, how much of it in links and how much in paragraphs lies below each element, and which
// elements are left out.
#pragma once
#include <cstdint>
#include <vector>

#include "quern/text/html/marks.h"
#include "quern/text/html/tree.h"

namespace quern::text {

struct NodeShape {
  uint32_t chars = 0;  // characters that are no white space, of all texts below
  uint32_t links = 0;  // of these, in links
  uint32_t prose = 0;  // of these, in blocks that are long enough for sentences and no links
  bool dropped = false;
  HtmlMarks marks;
};

// What is left out: elements that names of classes or their kind (nav, footer, …) call boilerplate; by kind alone;
// only what nobody sees, and <noscript> is shown.
enum class Strictness : uint8_t { names, kinds, visible };

struct PageShape {
  HtmlTree tree;
  std::vector<NodeShape> nodes;
  std::vector<uint32_t> blocks;  // node → the block that it is written in
};

void measure_page(std::string_view page, Strictness strictness, PageShape& shape);

inline bool is_mostly_links(const NodeShape& n, double share) { return n.links > share * n.chars; }

}  // namespace quern::text
