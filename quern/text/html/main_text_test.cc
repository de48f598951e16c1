// The main text of pages made for one rule each, as a reader would mark it.
#include "quern/text/html/main_text.h"

#include <gtest/gtest.h>

#include "quern/base/rng.h"
#include "quern/text/html/label_lines.h"
#include "quern/text/unicode/utf8.h"

namespace quern::text {
namespace {

constexpr std::string_view kOne =
    "The mill stands at the river since the time of the great flood, and it still turns.";
constexpr std::string_view kTwo =
    "Its wheel was made of oak by two brothers who had never seen a mill in their lives.";
constexpr std::string_view kThree =
    "In a dry summer the stones are dressed, and the miller sleeps until the rain comes.";

std::string paragraphs() { return fmt::format("<p>{}</p><p>{}</p><p>{}</p>", kOne, kTwo, kThree); }
std::string plain() { return fmt::format("{}\n\n{}\n\n{}", kOne, kTwo, kThree); }
std::string of(const std::string& body) {
  return main_text("<html><head><title>Mill</title></head><body>" + body + "</body></html>").text;
}

TEST(MainText, LeavesOutWhatIsAroundIt) {
  const std::string page =
      "<header><a href=/>Home</a></header><nav><ul><li><a href=a>Rivers of the land</a></ul></nav>"
      "<div class=content><h1>The mill</h1>" +
      paragraphs() +
      "<div class='post-share'>Share it with all the friends that you have, on every network there is.</div></div>"
      "<aside>Another mill that you may like to read about is the one behind the hill.</aside>"
      "<div id=comments><p>What a fine mill this is, I have been there and can say so.</p></div>"
      "<footer>Copyright by the people of the mill, all rights reserved everywhere.</footer>";
  EXPECT_EQ(of(page), "The mill\n\n" + plain());
  EXPECT_EQ(main_text("<title>A &amp; B</title>").title, "A & B");
}

TEST(MainText, KeepsHeadingsListsTablesAndCode) {
  const std::string page = "<article><h1>The mill</h1>" + paragraphs() +
                           "<h2>Parts</h2><ul><li>wheel<li>stone<ul><li>upper<li>lower</ul></ul>"
                           "<ol><li>open<li>close</ol>"
                           "<table><tr><th>Part<th>Size<tr><td>wheel<td>3 m</table>"
                           "<pre>if wet:\n    turn()\n</pre><blockquote>It turns.</blockquote></article>";
  EXPECT_EQ(of(page), "The mill\n\n" + plain() +
                          "\n\nParts\n\n- wheel\n- stone\n  - upper\n  - lower\n\n1. open\n2. close\n\n"
                          "Part | Size\nwheel | 3 m\n\nif wet:\n    turn()\n\nIt turns.");
}

TEST(MainText, FindsTheTextWithoutAnyName) {
  const std::string links = "<div><a href=a>One other page</a> <a href=b>Another other page</a></div>";
  EXPECT_EQ(of("<table><tr><td>" + links + links + "<td>" + paragraphs() + "</table>"), plain());
  EXPECT_EQ(of("<div><div>" + links + "</div><div><div>" + paragraphs() + "</div></div></div>"), plain());
}

TEST(MainText, ANameDoesNotTakeMostOfThePage) {
  EXPECT_EQ(of("<div class='page has-sidebar sidebar-left'>" + paragraphs() + "</div>"), plain());
  EXPECT_EQ(of("<form>" + paragraphs() + "</form>"), plain());
  EXPECT_EQ(of("<div class='field field--label-hidden'>" + paragraphs() + "</div>"), plain());
}

TEST(MainText, LinksToOtherPagesGoWithTheirHeading) {
  const std::string related = "<li><a href=a>How rivers are made and unmade</a><li><a href=b>Why oak is hard</a>";
  EXPECT_EQ(of("<article>" + paragraphs() + "<h3>Further reading</h3><ul>" + related + "</ul></article>"), plain());
  EXPECT_EQ(of("<article>" + paragraphs() + "<p>You may want to see:</p><ul>" + related + "</ul></article>"),
            plain());
  EXPECT_EQ(of("<article>" + paragraphs() + "<p>See: <a href=a>How rivers are made and unmade</a></p></article>"),
            plain());
  const std::string with_link = fmt::format("<p>{} <a href=x>More</a></p>", kOne);
  EXPECT_EQ(of("<article>" + with_link + paragraphs() + "</article>"), fmt::format("{} More\n\n{}", kOne, plain()));
}

TEST(MainText, TheLeadAboveTheRootBelongsToIt) {
  const std::string lead = "A mill, two brothers and a river: a story that took three hundred years to be told.";
  EXPECT_EQ(of("<main><h1>The mill</h1><p class=lead>" + lead + "</p><p>By A. Miller</p><div class=article-body>" +
               paragraphs() + "</div></main>"),
            lead + "\n\n" + plain());
}

TEST(MainText, HiddenTextIsNotThere) {
  EXPECT_EQ(of(paragraphs() + "<div style='color:red; Display : none'><p>" + std::string(kOne) +
               "</p></div><div hidden><p>" + std::string(kTwo) + "</p></div>"),
            plain());
}

TEST(MainText, PagesWithoutText) {
  EXPECT_EQ(of(""), "");
  EXPECT_EQ(main_text("").text, "");
  EXPECT_EQ(of("<script>var a = 'text that nobody reads, however long it may be'</script>"), "");
  EXPECT_EQ(of("<p>Short.</p>"), "Short.");
  EXPECT_EQ(of("<noscript><p>" + std::string(kOne) + "</p></noscript>"), kOne);
  EXPECT_EQ(of("<nav>Only this.</nav>"), "Only this.");
}

TEST(LabelLines, ByTheirBeginning) {
  for (const char* yes :
       {"Foto: A. Miller", "- Tags: mill, river", "(Quelle: dpa)", "Read more about mills", "Lea también: El molino"})
    EXPECT_TRUE(is_label_line(yes)) << yes;
  for (const char* no : {"", "Photosynthesis needs light.", "The source: a river.", "-"})
    EXPECT_FALSE(is_label_line(no)) << no;
  EXPECT_FALSE(is_label_line("Source: " + std::string(200, 'x')));
}

// Any bytes give valid text, and what is written ends.
TEST(MainText, AnyPage) {
  Rng rng(7);
  constexpr const char* kPieces[] = {"<div>",
                                     "</div>",
                                     "<p>",
                                     "</p>",
                                     "<table>",
                                     "<tr>",
                                     "<td>",
                                     "</table>",
                                     "<ul>",
                                     "</ul>",
                                     "<li>",
                                     "<ol>",
                                     "</ol>",
                                     "<pre>",
                                     "</pre>",
                                     "<h1>",
                                     "</h1>",
                                     "<h3>",
                                     "<a href=x>",
                                     "</a>",
                                     "<b>",
                                     "</b>",
                                     "<br>",
                                     "word ",
                                     "A long sentence that counts as a paragraph of a page. ",
                                     "&amp;",
                                     "&",
                                     "<",
                                     "é",
                                     "<script>",
                                     "</script>",
                                     "<!--",
                                     "-->",
                                     "<form class=nav>",
                                     "</form>",
                                     "<article>",
                                     "</article>",
                                     "\n",
                                     "Foto: x",
                                     "<div class=entry-content>"};
  for (int round = 0; round < 3000; ++round) {
    std::string page;
    for (int i = 0; i < 60; ++i) page += kPieces[rng.below(std::size(kPieces))];
    const MainText m = main_text(page);
    EXPECT_EQ(utf8_error(m.text), std::string_view::npos) << page;
    EXPECT_LE(m.text.size(), 3 * page.size()) << page;
    EXPECT_EQ(m.text.find('\0'), std::string_view::npos) << page;
    EXPECT_EQ(m.text.find("\n\n\n\n"),
              page.find("<pre>") == page.npos ? std::string_view::npos : m.text.find("\n\n\n\n"));
  }
}

}  // namespace
}  // namespace quern::text
