// The reader of Markdown, on a page with every form it knows.
#include "tests/docs/markdown.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "quern/base/mmap.h"

namespace quern::docs {
namespace {

const Page& sample() {
  static const Page page = read_page("markdown.md", read_file(QUERN_SOURCE_DIR "/tests/docs/testdata/markdown.md"));
  return page;
}

TEST(Markdown, BlocksHaveLanguageLineAndText) {
  const std::vector<Block>& b = sample().blocks;
  ASSERT_EQ(b.size(), 4u);
  EXPECT_EQ(b[0].language, "sh");
  EXPECT_EQ(b[0].line, 17);
  EXPECT_EQ(b[0].text, "echo tilde\n```\necho still inside\n");
  EXPECT_EQ(b[1].language, "sh");
  EXPECT_EQ(b[1].line, 25);
  EXPECT_EQ(b[1].text, "indented\n  more\n");
  EXPECT_EQ(b[2].language, "text");
  EXPECT_EQ(b[2].text, "```sh\nnot a block\n```\n");
  EXPECT_EQ(b[3].line, 37);
  EXPECT_EQ(b[3].text, "open to the end\n");
}

TEST(Markdown, LinksComeFromProseAlone) {
  std::vector<std::pair<int, std::string>> links;
  for (const Link& l : sample().links) links.emplace_back(l.line, l.target);
  std::sort(links.begin(), links.end());
  EXPECT_EQ(
      links,
      (std::vector<std::pair<int, std::string>>{
          {1, "other.md#a-b"}, {4, "other.md"}, {4, "page.html"}, {4, "picture.svg"}, {7, "docs/with space.md"}}));
}

TEST(Markdown, AnchorsAreThoseOfGitHub) {
  EXPECT_EQ(sample().anchors, (std::set<std::string>{"title-with-code-a-link--quotes", "twice", "twice-1",
                                                     "kv-cache-size--heads--25-gb", "by-hand"}));
}

TEST(Markdown, HeadingsHaveTheirLine) {
  ASSERT_EQ(sample().headings.size(), 4u);
  EXPECT_EQ(sample().headings[1].line, 12);
  EXPECT_EQ(sample().headings[1].text, "Twice");
}

TEST(Markdown, ProseIsWithoutCodeCommentsAndTargets) {
  const std::string& prose = sample().prose;
  for (const char* in : {"Title with", "wrapped\nlink", "an open ` tick stays", "defined"})
    EXPECT_NE(prose.find(in), prose.npos) << in;
  for (const char* out : {"echo", "code span", "other.md", "near copy", "picture.svg", "with space"})
    EXPECT_EQ(prose.find(out), prose.npos) << out;
  EXPECT_EQ(std::count(prose.begin(), prose.end(), '\n'), 37);  // lines stay countable
}

TEST(Markdown, ComplaintsNamePageAndLine) { EXPECT_EQ(format({{"docs/a.md", 7, "why"}}), "docs/a.md:7: why\n"); }

}  // namespace
}  // namespace quern::docs
