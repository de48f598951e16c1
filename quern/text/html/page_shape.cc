#include "quern/text/html/page_shape.h"

#include <algorithm>

namespace quern::text {
namespace {

using enum HtmlTag;

constexpr uint32_t kSentence = 30;  // characters of a block that is more than a label

// Elements without text of the page, whatever they hold.
bool is_never_text(HtmlTag t) {
  switch (t) {
    case head:
    case script:
    case style:
    case template_:
    case svg:
    case iframe:
    case object:
    case audio:
    case video:
    case canvas:
    case map:
    case select:
    case textarea:
    case button:
    case noembed:
    case noframes:
    case title:
    case progress:
    case datalist:
      return true;
    default:
      return false;
  }
}

bool is_elsewhere(HtmlTag t) {
  return t == figure || t == figcaption || t == nav || t == aside || t == footer || t == form || t == dialog ||
         t == menu;
}

uint32_t count_characters(std::string_view s) {
  uint32_t n = 0;
  for (const char c : s) n += static_cast<unsigned char>(c) > ' ' && (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return n;
}

void sum_up(PageShape& p) {
  const size_t n = p.tree.nodes.size();
  std::vector<NodeShape>& s = p.nodes;
  std::vector<uint32_t> own(n), own_links(n);
  for (size_t i = 0; i < n; ++i) {
    s[i].links = s[i].prose = 0;
    if (!p.tree.is_text(i)) s[i].chars = 0;
  }
  std::vector<uint8_t> in_link(n);
  for (size_t i = 1; i < n; ++i) {
    const HtmlNode& node = p.tree.nodes[i];
    in_link[i] = in_link[node.parent] || node.tag == a;
    if (!p.tree.is_text(i) || s[i].dropped) continue;
    own[p.blocks[i]] += s[i].chars;
    if (in_link[i]) s[i].links = s[i].chars, own_links[p.blocks[i]] += s[i].chars;
  }
  for (size_t i = n; --i > 0;) {
    if (s[i].dropped) continue;
    if (p.blocks[i] == i && !is_heading(p.tree.nodes[i].tag)) {
      const uint32_t plain = own[i] - own_links[i];
      if (plain >= kSentence && own_links[i] <= plain) s[i].prose += plain;
    }
    NodeShape& up = s[p.tree.nodes[i].parent];
    up.chars += s[i].chars, up.links += s[i].links, up.prose += s[i].prose;
  }
}

// Leaves out the elements for which unwanted(node, its shape, its share of all paragraphs).
template <class F>
void drop_where(PageShape& p, F&& unwanted) {
  const uint32_t all = p.nodes[0].prose;
  for (size_t i = 1; i < p.tree.nodes.size(); ++i) {
    const HtmlNode& node = p.tree.nodes[i];
    NodeShape& s = p.nodes[i];
    s.dropped = s.dropped || p.nodes[node.parent].dropped;
    if (s.dropped || p.tree.is_text(i) || node.tag == body || node.tag == html) continue;
    s.dropped = unwanted(node, s, all == 0 ? 0 : static_cast<double>(s.prose) / all);
  }
  sum_up(p);
}

// An element that holds most of the page is not left out for what it is called: old pages are one <form>, and themes
// name the element around everything after the side bar in it.
void drop_boilerplate(PageShape& p, Strictness strictness) {
  constexpr double kHidden = 0.5, kKind = 0.8, kNames = 0.4, kComments = 0.9;
  drop_where(p, [&](const HtmlNode& node, const NodeShape& s, double share) {
    return (s.marks.hidden && share < kHidden) ||
           (strictness != Strictness::visible && is_elsewhere(node.tag) && share < kKind);
  });
  if (strictness != Strictness::names) return;
  drop_where(p, [](const HtmlNode&, const NodeShape& s, double share) {
    return s.marks.content < HtmlMarks::kSurely &&
           ((s.marks.boilerplate && share < kNames) || (s.marks.comments && share < kComments));
  });
}

}  // namespace

void measure_page(std::string_view page, Strictness strictness, PageShape& p) {
  parse_html(page, p.tree);
  const size_t n = p.tree.nodes.size();
  p.nodes.assign(n, {});
  p.blocks.assign(n, 0);
  for (size_t i = 1; i < n; ++i) {
    const HtmlNode& node = p.tree.nodes[i];
    p.blocks[i] = is_block(node.tag) ? static_cast<uint32_t>(i) : p.blocks[node.parent];
    p.nodes[i].dropped = p.nodes[node.parent].dropped || is_never_text(node.tag) ||
                         (node.tag == noscript && strictness != Strictness::visible);
    if (p.nodes[i].dropped) continue;
    if (p.tree.is_text(i))
      p.nodes[i].chars = count_characters(node.text);
    else
      p.nodes[i].marks = marks_of(p.tree, node);
  }
  sum_up(p);
  drop_boilerplate(p, strictness);
}

}  // namespace quern::text
