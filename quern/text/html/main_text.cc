#include "quern/text/html/main_text.h"

#include <algorithm>

#include "quern/text/html/page_shape.h"
#include "quern/text/html/text_writer.h"

namespace quern::text {
namespace {

using enum HtmlTag;

static double P(const char* n, double d) {
  const char* e = getenv(n);
  return e ? atof(e) : d;
}
constexpr uint32_t kEnough = 200;  // characters of paragraphs that make a text

// By name or kind: the element of the surest kind with the most paragraphs, if these are enough of the page's.
uint32_t named_root(const PageShape& p) {
  for (int surely = 4; surely > 0; --surely) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < p.nodes.size(); ++i) {
      const NodeShape& s = p.nodes[i];
      if (s.dropped || s.prose == 0) continue;
      const HtmlTag t = p.tree.nodes[i].tag;
      if (t == body || t == html) continue;
      const int mark = std::max<int>(s.marks.content, t == article ? 2 : t == main ? 1 : 0);
      if (mark == surely && (best == 0 || s.prose > p.nodes[best].prose)) best = i;
    }
    if (best != 0 && p.nodes[best].prose >= P(surely >= 3   ? "R3"
                                              : surely == 2 ? "R2"
                                                            : "R1",
                                              surely >= 3 ? 0.4 : 0.35) *
                                                p.nodes[0].prose)
      return best;
  }
  return 0;
}

// Down to wherever most of the paragraphs lie.
uint32_t descend(const PageShape& p, uint32_t from, double share) {
  uint32_t at = from;
  while (true) {
    uint32_t next = at;
    for (uint32_t i = at + 1; i < p.tree.nodes[at].end; i = p.tree.nodes[i].end)
      if (!p.nodes[i].dropped && !p.tree.is_text(i) && p.nodes[i].prose >= share * p.nodes[at].prose) next = i;
    if (next == at || p.nodes[at].prose == 0 || p.tree.nodes[next].tag == HtmlTag::p) return at;
    at = next;
  }
}

// Blocks that are mostly links, within the main text.
bool leads_away(const PageShape& p, uint32_t i) {
  const NodeShape& s = p.nodes[i];
  if (s.chars == 0 || s.links == 0) return false;
  switch (p.tree.nodes[i].tag) {
    case ul:
    case ol:
    case dl:
    case div:
    case section:
    case table:
    case header:
    case aside:
      return is_mostly_links(s, P("L1", 0.5)) && s.prose < kEnough;
    case HtmlTag::p:
    case h2:
    case h3:
    case h4:
      return is_mostly_links(s, P("L2", 0.6)) && s.chars - s.links < P("L3", 40);
    case li:
      return is_mostly_links(s, P("L4", 0.9)) && s.chars < P("L5", 100);
    default:
      return false;
  }
}

class PageWriter {
 public:
  explicit PageWriter(const PageShape& p) : p_(p) {}
  void write(uint32_t begin, uint32_t end) {
    const std::vector<HtmlNode>& nodes = p_.tree.nodes;
    std::vector<uint32_t> open;
    for (uint32_t i = begin; i < end;) {
      while (!open.empty() && nodes[open.back()].end <= i) w_.close(nodes[open.back()].tag), open.pop_back();
      if (p_.nodes[i].dropped || leads_away(p_, i) ||
          (p_.nodes[i].marks.teaser && p_.nodes[i].prose < 500 && w_.begun())) {
        if (!p_.nodes[i].dropped) w_.leave_out();
        i = nodes[i].end;
      } else if (p_.tree.is_text(i)) {
        w_.put(nodes[i++].text);
      } else {
        w_.open(nodes[i].tag);
        open.push_back(i++);
      }
    }
    while (!open.empty()) w_.close(nodes[open.back()].tag), open.pop_back();
  }
  std::string take() { return w_.take(); }

 private:
  const PageShape& p_;
  TextWriter w_;
};

// Paragraphs between the page's heading and the root: what the text is about, in a few sentences.
void write_lead(const PageShape& p, uint32_t root, PageWriter& w) {
  constexpr uint32_t kLongest = 1000;
  const std::vector<HtmlNode>& nodes = p.tree.nodes;
  uint32_t around = root;
  while (nodes[around].parent != 0 && p.nodes[nodes[around].parent].prose <= P("CL", 1.35) * p.nodes[root].prose)
    around = nodes[around].parent;
  uint32_t begin = around;
  for (uint32_t i = 1; i < root; ++i)
    if (nodes[i].tag == h1 && !p.nodes[i].dropped && p.nodes[i].chars > 0) begin = nodes[i].end;
  if (begin > root) return;
  for (uint32_t i = begin; i < root;) {
    const NodeShape& s = p.nodes[i];
    if (nodes[i].end > root) {
      ++i;
      continue;
    }
    if (!s.dropped && !p.tree.is_text(i) && s.prose > 0 && s.prose < kLongest && 2 * s.prose > s.chars)
      w.write(i, nodes[i].end);
    i = nodes[i].end;
  }
}

std::string write_text(const PageShape& p, uint32_t root) {
  PageWriter w(p);
  write_lead(p, root, w);
  w.write(root, p.tree.nodes[root].end);
  return w.take();
}

std::string title_of(const PageShape& p) {
  for (uint32_t i = 1; i < p.nodes.size(); ++i)
    if (p.tree.nodes[i].tag == title && p.tree.nodes[i].end > i + 1) {
      TextWriter w;
      w.put(p.tree.nodes[i + 1].text);
      return w.take();
    }
  return {};
}

}  // namespace

MainText main_text(std::string_view page) {
  thread_local PageShape p;
  MainText out;
  for (const Strictness strictness : {Strictness::names, Strictness::tags}) {
    measure_page(page, p);
    const uint32_t before = p.nodes[0].prose;
    drop_boilerplate(p, strictness);
    if (strictness == Strictness::names && p.nodes[0].prose < std::min(kEnough, before)) continue;
    uint32_t root = named_root(p);
    const uint32_t named = root;
    if (root == 0) root = descend(p, 0, P("DS", 0.8));
    if (getenv("DBG")) {
      fprintf(stderr, "strict %d named %u root %u prose %u of %u before %u\n", (int)strictness, named, root,
              p.nodes[root].prose, p.nodes[0].prose, before);
      for (uint32_t i = root; i; i = p.tree.nodes[i].parent) {
        fprintf(stderr, "  tag %d mark %d prose %u chars %u", (int)p.tree.nodes[i].tag, p.nodes[i].marks.content,
                p.nodes[i].prose, p.nodes[i].chars);
        for (auto& a : p.tree.attributes_of(p.tree.nodes[i]))
          fprintf(stderr, " %.*s=%.*s", (int)a.name.size(), a.name.data(), (int)std::min<size_t>(60, a.value.size()),
                  a.value.data());
        fprintf(stderr, "\n");
      }
      for (uint32_t i = 1; i < p.nodes.size(); ++i)
        if (p.nodes[i].dropped && !p.nodes[p.tree.nodes[i].parent].dropped && !p.tree.is_text(i)) {
          uint32_t c = 0;
          for (uint32_t k = i; k < p.tree.nodes[i].end; ++k)
            if (p.tree.is_text(k)) c += p.nodes[k].chars;
          if (c < 150) continue;
          fprintf(stderr, "  DROP %u tag %d chars %u", i, (int)p.tree.nodes[i].tag, c);
          for (auto& a : p.tree.attributes_of(p.tree.nodes[i]))
            fprintf(stderr, " %.*s=%.*s", (int)a.name.size(), a.name.data(),
                    (int)std::min<size_t>(60, a.value.size()), a.value.data());
          fprintf(stderr, "\n");
        }
    }
    out.text = write_text(p, root);
    if (!out.text.empty()) break;
  }
  out.title = title_of(p);
  return out;
}

}  // namespace quern::text
