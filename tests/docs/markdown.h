// Markdown as far as the tests of the documentation read it: fenced blocks, heading anchors, links and prose.
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace quern::docs {

struct Block {
  std::string language;  // first word after the fence: "sh"
  int line = 0;          // of its first line of content, counted from 1
  std::string text;      // without the fence's indent
};

struct Link {
  int line = 0;
  std::string target;
};

struct Heading {
  int line = 0;
  std::string text;
};

struct Page {
  std::string name;  // as complaints name it: "docs/serving.md"
  std::vector<Block> blocks;
  std::vector<Heading> headings;
  std::vector<Link> links;        // inline, reference definitions, href and src of HTML; none from code
  std::set<std::string> anchors;  // of headings, as GitHub makes them, and id="…" of HTML
  std::string prose;              // no fenced blocks, code spans, comments and link targets
};

Page read_page(std::string name, std::string_view text);

struct Complaint {
  std::string page;
  int line = 0;
  std::string text;
};
std::string format(const std::vector<Complaint>& complaints);  // "docs/serving.md:12: …", one per line

}  // namespace quern::docs
