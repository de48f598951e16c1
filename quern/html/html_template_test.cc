// Fragments, placeholders, escapes and what a slip in a template does.
#include "quern/html/html_template.h"

#include <gtest/gtest.h>

#include "quern/html/web_files.h"

namespace quern::html {
namespace {

const HtmlTemplate& sample() {
  static const HtmlTemplate t(R"(A comment with {{no}} meaning.
<!-- #page -->
<h1 title="{{title}}">{{title}}</h1>
<p>
  two lines
  of text, {{n}} in all
  and {{{items}}}
</p>
<!-- #item -->
<li>{{name}}</li>
<!-- #nothing -->
)");
  return t;
}

TEST(HtmlTemplate, FillsFragments) {
  const std::string items = sample().fill("item", {{"name", "a<b>"}}) + sample().fill("item", {{"name", 'c'}});
  EXPECT_EQ(items, "<li>a&lt;b&gt;</li><li>c</li>");
  EXPECT_EQ(
      sample().fill("page", {{"title", "\"R&D\" 'x'"}, {"n", 2}, {"items", items}}),
      "<h1 title=\"&quot;R&amp;D&quot; &#39;x&#39;\">&quot;R&amp;D&quot; &#39;x&#39;</h1><p>two lines of text, 2 "
      "in all and <li>a&lt;b&gt;</li><li>c</li></p>");
  EXPECT_EQ(sample().fill("nothing"), "");
}

TEST(HtmlTemplate, PutsValuesInOnce) {  // what a value holds is not looked at again
  EXPECT_EQ(sample().fill("item", {{"name", "{{name}}"}}), "<li>{{name}}</li>");
}

TEST(HtmlTemplate, EscapesWhatPagesMustNotHold) {
  EXPECT_EQ(escape_html(std::string_view("a\0b\x1b\n\tä", 8)), "a\uFFFDb\uFFFD\n\tä");
}

TEST(HtmlTemplateDeathTest, SlipsAreOurBugs) {
  EXPECT_DEATH(sample().fill("pge"), "no fragment 'pge'");
  EXPECT_DEATH(sample().fill("item"), "wants 'name'");
  EXPECT_DEATH(sample().fill("item", {{"name", 1}, {"nmae", 2}}), "has no 'nmae'");
  EXPECT_DEATH(HtmlTemplate("<!-- #a -->\n{{b"), "not closed");
  EXPECT_DEATH(HtmlTemplate("<!-- #a -->\n<!-- #a -->\n"), "two fragments");
  EXPECT_DEATH(web_file("none"), "web/none");
}

TEST(WebFiles, AreBuiltIn) {
  EXPECT_NE(web_file("report.css").find(".chart"), std::string_view::npos);
  for (const char* name : {"training_report.html", "corpus_report.html", "code_report.html"}) {
    EXPECT_NE(web_file(name).find("<!-- #page -->"), std::string_view::npos) << name;
    HtmlTemplate parsed(web_file(name));
  }
}

}  // namespace
}  // namespace quern::html
