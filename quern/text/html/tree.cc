#include "quern/text/html/tree.h"

#include <algorithm>
#include <array>

namespace quern::text {
namespace {

using enum HtmlTag;

template <size_t N>
constexpr std::array<bool, kHtmlTags> tag_set(const HtmlTag (&tags)[N]) {
  std::array<bool, kHtmlTags> set{};
  for (const HtmlTag t : tags) set[static_cast<size_t>(t)] = true;
  return set;
}
using TagSet = std::array<bool, kHtmlTags>;
bool holds(const TagSet& set, HtmlTag t) { return set[static_cast<size_t>(t)]; }

// Where the search for an open element ends, by what is searched.
constexpr TagSet kCells = tag_set({td, th, table, caption, object, html});
constexpr TagSet kParagraphs = tag_set({td, th, table, caption, object, html, button});
constexpr TagSet kLists = tag_set({ul, ol, menu, dl, td, th, table, caption, html, section, article, blockquote});
constexpr TagSet kTables = tag_set({table, html});
constexpr TagSet kRowParts = tag_set({table, tr, html});
constexpr TagSet kBlocks =
    tag_set({table, td, th,   div, p,    li,   ul,     ol,     section, article, aside,  blockquote,
             dd,    dt, main, nav, body, html, header, footer, form,    caption, figure, pre});
constexpr TagSet kNone = {};
constexpr TagSet kTablePieces = tag_set({table, tr, td, th, tbody, thead, tfoot, caption});
constexpr TagSet kHeadings = tag_set({h1, h2, h3, h4, h5, h6});
constexpr TagSet kOnce = tag_set({html, head, body});

bool is_kept(std::string_view name) {
  switch (name.size()) {
    case 2:
      return same_html_word(name, "id");
    case 4:
      return same_html_word(name, "role");
    case 5:
      return same_html_word(name, "class") || same_html_word(name, "style");
    case 6:
      return same_html_word(name, "hidden");
    case 8:
      return same_html_word(name, "itemprop");
    case 11:
      return same_html_word(name, "aria-hidden");
    default:
      return false;
  }
}

class TreeBuilder {
 public:
  TreeBuilder(std::string_view page, HtmlTree& tree) : scan_(page), tree_(tree) {}
  void build() {
    tree_.nodes.clear(), tree_.attributes.clear();
    tree_.nodes.push_back({});
    open_.push_back(0);
    ++counts_[static_cast<size_t>(other)];
    for (HtmlToken t = scan_.next(); t.kind != HtmlToken::Kind::end; t = scan_.next()) {
      if (t.kind == HtmlToken::Kind::text)
        add({text, 0, 0, 0, 0, t.text});
      else if (t.kind == HtmlToken::Kind::close)
        close(t.tag);
      else
        open(t);
    }
    while (!open_.empty()) pop();
  }

 private:
  HtmlTag tag_at(size_t depth) const { return tree_.nodes[open_[depth]].tag; }
  uint32_t add(HtmlNode n) {
    const auto i = static_cast<uint32_t>(tree_.nodes.size());
    n.parent = open_.back(), n.end = i + 1;
    tree_.nodes.push_back(n);
    return i;
  }
  void pop() {
    HtmlNode& n = tree_.nodes[open_.back()];
    n.end = static_cast<uint32_t>(tree_.nodes.size());
    --counts_[static_cast<size_t>(n.tag)];
    open_.pop_back();
  }
  // Closes the innermost open element of these tags, with all within, unless one of `until` is found first.
  bool close_open(const TagSet& tags, const TagSet& until) {
    for (size_t depth = open_.size(); --depth > 0;) {
      if (holds(tags, tag_at(depth))) {
        while (open_.size() > depth) pop();
        return true;
      }
      if (holds(until, tag_at(depth))) return false;
    }
    return false;
  }
  bool is_open(HtmlTag t) const { return counts_[static_cast<size_t>(t)] > 0; }

  // Elements that end where this one begins.
  void close_implied(HtmlTag t) {
    static constexpr TagSet kP = tag_set({p}), kLi = tag_set({li}), kDef = tag_set({dt, dd}), kA = tag_set({a}),
                            kRow = tag_set({tr}), kCell = tag_set({td, th}), kParts = tag_set({tbody, thead, tfoot}),
                            kOption = tag_set({option});
    if (is_open(p) && is_block(t) && !holds(kTablePieces, t)) close_open(kP, kParagraphs);
    if (t == table && is_open(p)) close_open(kP, kParagraphs);
    if (t == li && is_open(li)) close_open(kLi, kLists);
    if ((t == dt || t == dd) && (is_open(dt) || is_open(dd))) close_open(kDef, kLists);
    if (t == a && is_open(a)) close_open(kA, kCells);
    if (t == option && is_open(option)) close_open(kOption, kLists);
    if (holds(kHeadings, t)) close_open(kHeadings, kBlocks);
    if (t == td || t == th) close_open(kCell, kRowParts);
    if (t == tr && is_open(tr)) close_open(kRow, kTables);
    if ((t == tbody || t == thead || t == tfoot) && is_open(table)) close_open(kParts, kTables);
    if (t == body && is_open(head)) close(head);
  }
  void open(const HtmlToken& t) {
    if (holds(kOnce, t.tag) && is_open(t.tag)) return;
    close_implied(t.tag);
    const auto begin = static_cast<uint32_t>(tree_.attributes.size());
    for (size_t i = 0; i < t.attributes; ++i)
      if (is_kept(scan_.attribute(i).name)) tree_.attributes.push_back(scan_.attribute(i));
    const uint32_t n = add({t.tag, 0, 0, begin, static_cast<uint32_t>(tree_.attributes.size()), {}});
    const bool empty = is_void(t.tag) || (t.self_closed && (t.tag == other || !is_block(t.tag)) && t.tag != a &&
                                          t.tag != script && t.tag != style && t.tag != title);
    if (empty || open_.size() >= HtmlTree::kMaxDepth) return;
    open_.push_back(n);
    ++counts_[static_cast<size_t>(t.tag)];
  }
  void close(HtmlTag t) {
    if (t == body || t == html || !is_open(t)) return;
    TagSet one{};
    one[static_cast<size_t>(t)] = true;
    close_open(one, t == other || (!is_block(t) && t != a && t != button) ? kBlocks
                    : holds(kTablePieces, t) || t == head || t == noscript || t == form
                        ? (t == table ? kNone : kTables)
                    : t == p ? kParagraphs
                             : kCells);
  }

  HtmlScanner scan_;
  HtmlTree& tree_;
  std::vector<uint32_t> open_;
  std::array<uint32_t, kHtmlTags> counts_{};
};

}  // namespace

void parse_html(std::string_view page, HtmlTree& tree) { TreeBuilder(page, tree).build(); }

}  // namespace quern::text
