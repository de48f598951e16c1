// Readers: what a person would read of each format, headings with their levels, and passages that stay in sections.
#include <gtest/gtest.h>

#include "quern/base/rng.h"
#include "quern/recall/read/document.h"
#include "quern/recall/read/passages.h"
#include "quern/recall/read/roff.h"

namespace quern::recall {
namespace {

using Strings = std::vector<std::string>;

Strings outline(const std::vector<HeadingMark>& headings) {
  Strings out;
  for (const HeadingMark& h : headings) out.push_back(std::to_string(h.level) + " " + h.title);
  return out;
}

TEST(Kinds, ByName) {
  using enum DocumentKind;
  const std::pair<const char*, std::optional<DocumentKind>> cases[] = {
      {"a.md", markdown},      {"A.MD.gz", markdown},   {"x.rst", rst},
      {"x.rst.txt", rst},      {"i.html", html},        {"i.htm.gz", html},
      {"ls.1", man},           {"ls.1.gz", man},        {"printf.3posix", man},
      {"notes", plain},        {"README.txt", plain},   {"m.cc", code},
      {"r.jsonl", json_lines}, {"a.png", std::nullopt}, {"x.tar.gz", std::nullopt},
      {"lib.so", std::nullopt}};
  for (const auto& [name, kind] : cases) EXPECT_EQ(document_kind(name), kind) << name;
  EXPECT_TRUE(is_roff(".\\\" a comment\n.TH LS 1\n"));
  EXPECT_FALSE(is_roff("Release notes of version 1.\n"));
}

TEST(Markdown, HeadingsOutsideCode) {
  const std::string text =
      "---\ntitle: x\n# not this\n---\n# A `mill` #\ntext\n```sh\n# a comment\n```\nUnder\n=====\n\n"
      "Second [line](http://x)\n---\n### Deep {#deep}\n#hashtag\n    # code\n| a |\n---\n####### seven\n";
  const auto h = markdown_headings(text);
  EXPECT_EQ(outline(h), (Strings{"1 A mill", "2 Second line", "3 Deep"}));
  EXPECT_EQ(h[0].at, text.find("# A"));
  EXPECT_EQ(h[1].at, text.find("Second"));
  EXPECT_EQ(outline(markdown_headings("Under\n=====\n")), Strings{"1 Under"});
  EXPECT_EQ(outline(markdown_headings("````\n```\n# no\n````\n# yes\n")), Strings{"1 yes"});
}

TEST(Rst, LevelsFollowTheirFirstUse) {
  const std::string text =
      "=====\nTitle\n=====\n\nIntro\n\nPart\n----\n\ntext\n\nÄpfel\n~~~~~\n\n=====  =====\ncol    col\n=====  "
      "=====\n\n"
      "Next\n----\nnot a title\n  ----\nshort\n---\n\nToo long a line\n---\n";
  const auto h = rst_headings(text);
  EXPECT_EQ(outline(h), (Strings{"1 Title", "2 Part", "3 Äpfel", "2 Next"}));
  EXPECT_EQ(h[0].at, 0u);
  EXPECT_EQ(h[1].at, text.find("Part"));
}

TEST(Html, TextWithoutMarkup) {
  const ReadDocument d = read_html(
      "<!DOCTYPE html><html><head><title>Mill &amp; River</title><style>p{}</style><script>var a='<p>';</script>"
      "</head><body><nav><ul><li><a href=x>Home</a><nav>inner</nav></ul></nav>"
      "<h1>The <em>mill</em><a class=\"headerlink\" href=\"#m\">¶</a></h1><!-- no > text -->"
      "<p>It\n  grinds &lt;fine&gt; flour&nbsp;&#8212; at 3&bogus;am &#x41;.<br>Next"
      "<div class='toc big'><a>The mill</a></div><pre>if a &lt; b:\n    run()\n</pre>"
      "<table><tr><th>Name<td>Size<tr><td>wheel<td>3 &euro;</table>1 < 2<h2 id=\"x\" title='a > b'>Wheel</h2>turns"
      "<footer>Copyright</footer></body></html>");
  EXPECT_EQ(d.title, "Mill & River");
  EXPECT_EQ(outline(d.headings), (Strings{"1 The mill", "2 Wheel"}));
  EXPECT_EQ(d.text,
            "The mill\n\nIt grinds <fine> flour — at 3&bogus;am A.\nNext\n\nif a < b:\n    run()\n\nName Size\n"
            "wheel 3 €\n\n1 < 2\n\nWheel\n\nturns");
  EXPECT_EQ(d.text.substr(d.headings[1].at, 5), "Wheel");
}

TEST(Html, OldEncodingsAndBrokenPages) {
  EXPECT_EQ(read_html("<meta charset=iso-8859-1><p>M\xFChle \x96 alt").text, "Mühle – alt");
  EXPECT_EQ(read_html("<p>a<script>never closed <p>b").text, "a");
  EXPECT_EQ(read_html("<p>a<!-- never closed <p>b").text, "a");
  EXPECT_EQ(read_html("<p class=\"toc").text, "");
  EXPECT_EQ(read_html("a <3 b & c &bogus; &#0; &#xD800;").text, "a <3 b & c &bogus; &#0; &#xD800;");
  EXPECT_EQ(read_html("<h1></h1><p>x").headings.size(), 0u);
}

TEST(Man, MacrosOfManPages) {
  const ReadDocument d = read_man(
      ".\\\" comment\n.de XX\nhidden\n..\n.TH MILL 1 2026-01-01 \"Quern\" \"Manual\"\n.SH NAME\nmill \\- grind "
      "\\fIgrain\\fP\n.SH \"SEE  ALSO\"\n.BR river (7),\n.B two\nwords\n.if n \\{\\\nhidden too\n.\\}\n.SS "
      "Options\n.TP\n"
      ".BR \\-f \", \" \\-\\-fine\nFine \\(lqflour\\(rq\\&.\n.nf\n  code\n  more\n.fi\n.TS\nl "
      "l.\na\tb\nT{\nc\nT}\n.TE\n"
      ".SH\nEXIT\n0 \\[u00E9]\\h'2n'x \\\" end\n");
  EXPECT_EQ(d.title, "MILL(1)");
  EXPECT_EQ(outline(d.headings), (Strings{"1 NAME", "1 SEE ALSO", "2 Options", "1 EXIT"}));
  EXPECT_EQ(d.text,
            "NAME\nmill - grind grain\n\nSEE ALSO\nriver(7),\ntwo\nwords\n\nOptions\n\n-f, --fine\nFine “flour”.\n\n"
            "  code\n  more\n\na b\nc\n\nEXIT\n0 éx");
}

TEST(Man, MacrosOfMdoc) {
  const ReadDocument d = read_man(
      ".Dd May 1\n.Dt MILL 8\n.Os\n.Sh NAME\n.Nm mill\n.Nd grinds grain\n.Sh SYNOPSIS\n.Nm\n.Op Fl f Ar file\n"
      ".Sh SEE\n.Xr river 7 ,\n.Xr wheel 3\n");
  EXPECT_EQ(d.title, "MILL(8)");
  EXPECT_EQ(d.text, "NAME\nmill\n- grinds grain\n\nSYNOPSIS\nmill\n[-f file]\n\nSEE\nriver(7),\nwheel(3)");
}

TEST(Roff, Arguments) {
  EXPECT_EQ(roff_arguments(" one \"two words\" \"a \"\"b\"\"\" c\\ d \\\" rest"),
            (Strings{"one", "two words", "a \"b\"", "c d"}));
  EXPECT_EQ(roff_text("\\f(CWx\\fR \\s-1Y\\s0 \\*(lqz\\*(rq \\e n\\"), "x Y “z” \\ n");
}

Strings passages(const ReadDocument& d, const PassageOptions& o, uint64_t base = 0) {
  PassageList list;
  append_passages(d, o, base, list);
  Strings out;
  for (size_t i = 0; i < list.chunks.size(); ++i)
    out.push_back(std::string(list.path_of(i)) + " | " +
                  d.text.substr(list.chunks[i].begin - base, list.chunks[i].end - list.chunks[i].begin));
  return out;
}

TEST(Passages, StayInSectionsAndKnowTheirPath) {
  const ReadDocument d =
      read_document(DocumentKind::markdown,
                    "Before.\n# Mill\n## Wheel\nIt turns. It is wet.\n## Stone\nGrinds.\n# River\nFlows.\n");
  const PassageOptions o{.chunks = {.max_words = 20}, .min_words = 5};
  const Strings expected = {" | Before.", "Mill > Wheel | # Mill\n## Wheel\nIt turns. It is wet.",
                            "Mill > Stone | ## Stone\nGrinds.", "River | # River\nFlows."};
  EXPECT_EQ(passages(d, o), expected);
  EXPECT_EQ(passages(d, o, 100), expected);
}

TEST(Passages, JoinOnlyWhatIsShort) {
  const ReadDocument d{
      .text = "One two three. Four five six. Seven. Eight nine ten eleven twelve.", .title = {}, .headings = {}};
  EXPECT_EQ(passages(d, {.chunks = {.max_words = 6}, .min_words = 0}).size(), 4u);
  EXPECT_EQ(passages(d, {.chunks = {.max_words = 6}, .min_words = 4}),
            (Strings{" | One two three. Four five six.", " | Seven. Eight nine ten eleven twelve."}));
  EXPECT_EQ(passages(d, {.chunks = {.max_words = 6}, .min_words = 2}),
            (Strings{" | One two three.", " | Four five six. Seven.", " | Eight nine ten eleven twelve."}));
}

TEST(Passages, TheTitleStandsAboveUnlessTheHeadingRepeatsIt) {
  const PassageOptions o{.chunks = {}, .min_words = 8};
  EXPECT_EQ(passages(read_html("<title>Mill - Guide</title><h1>Mill</h1>a"), o), Strings{"Mill | Mill\n\na"});
  EXPECT_EQ(passages(read_html("<title>Guide</title><h1>Mill</h1>a"), o), Strings{"Guide > Mill | Mill\n\na"});
}

// Every byte that is no white space is in one passage, whatever the headings are.
TEST(Passages, CoverTheText) {
  Rng rng(4);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (int i = 0; i < 40; ++i) {
      constexpr const char* kPieces[] = {"word ",      "end. ", "\n", "\n\n",  "# ",
                                         "## title\n", "***\n", "é",  "```\n", "==\n"};
      text += kPieces[rng.below(std::size(kPieces))];
    }
    const ReadDocument d = read_document(DocumentKind::markdown, text);
    PassageList list;
    append_passages(d, {.chunks = {.max_words = 6}, .min_words = 3}, 0, list);
    std::vector<int> covered(text.size());
    for (size_t i = 0; i < list.chunks.size(); ++i) {
      EXPECT_TRUE(i == 0 || list.chunks[i - 1].end <= list.chunks[i].begin);
      for (uint64_t b = list.chunks[i].begin; b < list.chunks[i].end; ++b) ++covered[b];
    }
    for (size_t b = 0; b < text.size(); ++b) {
      const bool space = text[b] == ' ' || text[b] == '\n';
      EXPECT_TRUE(space ? covered[b] <= 1 : covered[b] == 1) << text << "\nat " << b;
    }
  }
}

}  // namespace
}  // namespace quern::recall
