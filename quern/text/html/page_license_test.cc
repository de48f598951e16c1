// Licenses in the markup of pages, as Wikipedia, Creative Commons' chooser and schema.org have them.
#include "quern/text/html/page_license.h"

#include <gtest/gtest.h>

namespace quern::text {
namespace {

TEST(PageLicense, LinksAndItems) {
  EXPECT_EQ(
      page_license("<head><link rel=\"license\" href=\"https://creativecommons.org/licenses/by-sa/4.0/deed.en\">"),
      "https://creativecommons.org/licenses/by-sa/4.0/deed.en");
  EXPECT_EQ(page_license("<p>license</p><A HREF='/license?a=1&amp;b=2' REL='nofollow License noopener'>x</A>"),
            "/license?a=1&b=2");
  EXPECT_EQ(page_license("<p>license</p><a href='/license?a=1&amp;b=2' rel='nofollow license noopener'>x</a>"),
            "/license?a=1&b=2");
  EXPECT_EQ(page_license("<a itemprop=license href=//x.org/mit>MIT</a>"), "//x.org/mit");
  EXPECT_EQ(page_license("<meta itemprop=\"license\" content=\"CC BY 4.0\">"), "CC BY 4.0");
}

TEST(PageLicense, OtherPlacesOfTheWord) {
  for (const char* page :
       {"", "license", "<a href=license>x</a>", "<a rel=licensed href=x>y</a>", "<a rel=license>x</a>",
        "a < b license", "<!-- <a rel=license --> license", "<p title='rel=license'>x</p>",
        "<a rel=\"license\" href=\"   \">x</a>", "<a rel=license", "<"})
    EXPECT_EQ(page_license(page), "") << page;
  EXPECT_EQ(page_license("<a rel=license href=" + std::string(600, 'x') + "><a rel=license href=y>"), "y");
}

}  // namespace
}  // namespace quern::text
