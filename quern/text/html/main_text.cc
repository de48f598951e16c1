#include "quern/text/html/main_text.h"

#include <algorithm>

#include "quern/text/html/page_shape.h"
#include "quern/text/html/text_writer.h"

namespace quern::text {
namespace {

using enum HtmlTag;

constexpr uint32_t kEnough = 200;      // characters of paragraphs that make a text
constexpr uint32_t kLead = 1000;       // at most, of a lead or a teaser
constexpr uint32_t kHeadingLead = 40;  // at least, of a heading that is a lead

// How surely the element is the main text, by its names or its kind.
int surely_main(const PageShape& p, uint32_t i) {
  const HtmlTag t = p.tree.nodes[i].tag;
  const int kind = t == article ? HtmlMarks::kLikely : t == HtmlTag::main ? HtmlMarks::kPerhaps : 0;
  return std::max<int>(p.nodes[i].marks.content, kind);
}

// The element of the surest names with the most paragraphs, if these are enough of the page's. 0: none.
uint32_t named_root(const PageShape& p) {
  for (int surely = HtmlMarks::kDeclared; surely >= HtmlMarks::kPerhaps; --surely) {
    const double enough = surely >= HtmlMarks::kSurely ? 0.4 : 0.35;
    uint32_t best = 0;
    for (uint32_t i = 1; i < p.nodes.size(); ++i) {
      const HtmlTag t = p.tree.nodes[i].tag;
      if (p.nodes[i].dropped || t == body || t == html || surely_main(p, i) != surely) continue;
      if (p.nodes[i].prose > p.nodes[best == 0 ? i : best].prose || (best == 0 && p.nodes[i].prose > 0)) best = i;
    }
    if (best != 0 && p.nodes[best].prose >= enough * p.nodes[0].prose) return best;
  }
  return 0;
}

// Down to wherever most of the paragraphs lie.
uint32_t descend(const PageShape& p) {
  constexpr double kShare = 0.8;
  uint32_t at = 0;
  while (p.nodes[at].prose > 0) {
    uint32_t next = at;
    for (uint32_t i = at + 1; i < p.tree.nodes[at].end; i = p.tree.nodes[i].end)
      if (!p.nodes[i].dropped && !p.tree.is_text(i) && p.nodes[i].prose >= kShare * p.nodes[at].prose) next = i;
    if (next == at || p.tree.nodes[next].tag == HtmlTag::p) break;
    at = next;
  }
  return at;
}

// A block of links within the main text: related pages, tags, a table of contents.
bool leads_away(const PageShape& p, uint32_t i) {
  const NodeShape& s = p.nodes[i];
  if (s.links == 0) return false;
  switch (p.tree.nodes[i].tag) {
    case ul:
    case ol:
    case dl:
    case div:
    case section:
    case table:
    case header:
    case aside:
      return is_mostly_links(s, 0.5) && s.prose < kEnough;
    case HtmlTag::p:
    case h2:
    case h3:
    case h4:
      return is_mostly_links(s, 0.6) && s.chars - s.links < 40;
    case li:
      return is_mostly_links(s, 0.9) && s.chars < 100;
    default:
      return false;
  }
}

class PageWriter {
 public:
  explicit PageWriter(const PageShape& p) : p_(p) {}
  void write(uint32_t begin, uint32_t end) {
    const std::vector<HtmlNode>& nodes = p_.tree.nodes;
    for (uint32_t i = begin; i < end;) {
      close_until(i);
      const bool away = !p_.nodes[i].dropped && (leads_away(p_, i) || is_teaser(i));
      if (away) out_.leave_out();
      if (away || p_.nodes[i].dropped) {
        i = nodes[i].end;
      } else if (p_.tree.is_text(i)) {
        out_.put(nodes[i++].text);
      } else {
        out_.open(nodes[i].tag);
        open_.push_back(i++);
      }
    }
    close_until(static_cast<uint32_t>(nodes.size()));
  }
  std::string take() { return out_.take(); }

 private:
  void close_until(uint32_t i) {
    while (!open_.empty() && p_.tree.nodes[open_.back()].end <= i) {
      out_.close(p_.tree.nodes[open_.back()].tag);
      open_.pop_back();
    }
  }
  // Of another page: that of this one comes first.
  bool is_teaser(uint32_t i) const {
    constexpr size_t kBegun = 300;
    return p_.nodes[i].marks.teaser && p_.nodes[i].prose < kLead / 2 && out_.bytes() > kBegun;
  }

  const PageShape& p_;
  TextWriter out_;
  std::vector<uint32_t> open_;
};

bool is_lead(const PageShape& p, uint32_t i) {
  const NodeShape& s = p.nodes[i];
  if (s.dropped || p.tree.is_text(i)) return false;
  if (is_heading(p.tree.nodes[i].tag)) return s.chars >= kHeadingLead;
  return s.prose > 0 && s.prose < kLead && 2 * s.prose > s.chars;
}

// What stands between the page's heading and the root, or before the root in an element that holds hardly more than it:
// what the text is about, in a few sentences.
void write_lead(const PageShape& p, uint32_t root, PageWriter& w) {
  constexpr double kHardlyMore = 1.35;
  const std::vector<HtmlNode>& nodes = p.tree.nodes;
  uint32_t around = root;
  while (nodes[around].parent != 0 && p.nodes[nodes[around].parent].prose <= kHardlyMore * p.nodes[root].prose)
    around = nodes[around].parent;
  uint32_t i = around;
  for (uint32_t k = 1; k < root; ++k)
    if (nodes[k].tag == h1 && !p.nodes[k].dropped && p.nodes[k].chars > 0) i = nodes[k].end;
  while (i < root) {
    const bool around_root = nodes[i].end > root;
    if (!around_root && is_lead(p, i)) w.write(i, nodes[i].end);
    i = around_root ? i + 1 : nodes[i].end;
  }
}

std::string title_of(const HtmlTree& tree) {
  for (uint32_t i = 1; i + 1 < tree.nodes.size(); ++i)
    if (tree.nodes[i].tag == title && tree.is_text(i + 1) && tree.nodes[i + 1].parent == i) {
      TextWriter w;
      w.put(tree.nodes[i + 1].text);
      return w.take();
    }
  return {};
}

// The strictest way that leaves enough of the page, or else anything.
void measure_for_text(std::string_view page, PageShape& p) {
  constexpr Strictness kAll[] = {Strictness::names, Strictness::kinds, Strictness::visible};
  for (const uint32_t enough : {kEnough, uint32_t{1}})
    for (const Strictness strictness : kAll) {
      measure_page(page, strictness, p);
      if (p.nodes[0].prose >= enough) return;
    }
}

}  // namespace

MainText main_text(std::string_view page) {
  thread_local PageShape p;
  measure_for_text(page, p);
  uint32_t root = named_root(p);
  if (root == 0) root = descend(p);
  PageWriter w(p);
  write_lead(p, root, w);
  w.write(root + 1, p.tree.nodes[root].end);
  return {.text = w.take(), .title = title_of(p.tree)};
}

}  // namespace quern::text
