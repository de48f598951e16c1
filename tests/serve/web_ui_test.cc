// The page at `/`: what it may fetch, how large it is, whether everything has a name for a screen reader, and whether
// its colors can be read in both themes.
#include "quern/serve/app/web_ui.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace quern {
namespace {

std::string text() { return std::string(serve::web_files()[0].text); }

std::vector<std::smatch> all_of(const std::string& s, const std::regex& what) {
  return {std::sregex_iterator(s.begin(), s.end(), what), std::sregex_iterator()};
}

TEST(Page, IsSmallAndFetchesNothingFromElsewhere) {
  const std::string s = text();
  EXPECT_GT(s.size(), 10000u);
  EXPECT_LT(s.size(), 200000u);
  for (const auto& m : all_of(s, std::regex("https?://[a-zA-Z0-9][a-zA-Z0-9.]*")))
    EXPECT_EQ(m.str(), "http://www.w3.org");  // the names of SVG and MathML
  EXPECT_FALSE(std::regex_search(s, std::regex("(ask|fetch)\\([\"'`]/"))) << "addresses are relative, for a prefix";
  EXPECT_TRUE(std::regex_search(s, std::regex("ask\\(\"v1/chat/completions\"")));
  EXPECT_EQ(s.find("@import"), std::string::npos);
  EXPECT_EQ(s.find("url("), std::string::npos);
  EXPECT_FALSE(std::regex_search(s, std::regex("<(script|link|img|iframe)[^>]* (src|href)=\"(?!data:|manifest.webmanifest\")")));
  EXPECT_EQ(s.find("innerHTML"), std::string::npos) << "a model's words must never become markup";
  EXPECT_EQ(s.find("insertAdjacentHTML"), std::string::npos);
  EXPECT_EQ(s.find("eval("), std::string::npos);
}

TEST(Page, NamesItselfItsLanguageAndItsControls) {
  const std::string s = text();
  EXPECT_NE(s.find("<html lang=\"en\">"), std::string::npos);
  EXPECT_NE(s.find("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"), std::string::npos);
  EXPECT_TRUE(std::regex_search(s, std::regex("<title>[^<]+</title>")));
  EXPECT_NE(s.find("role=\"log\""), std::string::npos);
  EXPECT_NE(s.find("prefers-reduced-motion"), std::string::npos);
  int fields = 0;
  for (const auto& m : all_of(s, std::regex("<(input|select|textarea)[^>]*>"))) {
    ++fields;
    const std::string tag = m.str();
    std::smatch id;
    ASSERT_TRUE(std::regex_search(tag, id, std::regex(" id=\"([^\"]+)\""))) << tag;
    const bool labeled = s.find("<label for=\"" + id[1].str() + "\"") != std::string::npos;
    EXPECT_TRUE(labeled || tag.find("aria-label=") != std::string::npos) << tag;
  }
  EXPECT_GE(fields, 8);
  int buttons = 0;
  for (const auto& m : all_of(s, std::regex("<button([^>]*)>(.*?)</button>"))) {
    ++buttons;
    const std::string words = std::regex_replace(m[2].str(), std::regex("<[^>]*>"), "");
    EXPECT_TRUE(std::regex_search(words, std::regex("[A-Za-z…]")) ||
                m[1].str().find("aria-label=") != std::string::npos)
        << m.str();
  }
  EXPECT_GE(buttons, 6);
  for (const auto& m : all_of(s, std::regex("<dialog([^>]*)>")))
    EXPECT_NE(m[1].str().find("aria-labelledby="), std::string::npos) << m.str();
}

using Palette = std::map<std::string, std::string>;

Palette palette(const std::string& s, const std::string& rule) {
  const size_t at = s.find(rule), end = s.find('}', at);
  Palette p;
  const std::string block = s.substr(at, end - at);
  for (const auto& m : all_of(block, std::regex("--([a-z-]+): (#[0-9a-f]{6})"))) p[m[1].str()] = m[2].str();
  return p;
}

double luminance(const std::string& hex) {
  double sum = 0;
  const double share[3] = {0.2126, 0.7152, 0.0722};
  for (int i = 0; i < 3; ++i) {
    const double c = std::stoi(hex.substr(1 + 2 * static_cast<size_t>(i), 2), nullptr, 16) / 255.0;
    sum += share[i] * (c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4));
  }
  return sum;
}

double contrast(const std::string& a, const std::string& b) {
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

TEST(Page, CanBeReadInBothThemes) {
  const std::string s = text();
  EXPECT_NEAR(contrast("#000000", "#ffffff"), 21, 1e-6);
  for (const char* rule : {":root {", ":root[data-theme=dark] {"}) {
    Palette p = palette(s, rule);
    ASSERT_GE(p.size(), 12u) << rule;
    for (const char* ground : {"ground", "raised", "sunk"})
      for (const char* ink : {"ink", "soft"}) EXPECT_GE(contrast(p[ink], p[ground]), 4.5) << rule << ink << ground;
    EXPECT_GE(contrast(p["ink"], p["mine"]), 4.5) << rule;
    EXPECT_GE(contrast(p["on-accent"], p["accent"]), 4.5) << rule;
    EXPECT_GE(contrast(p["bad"], p["ground"]), 4.5) << rule;
    EXPECT_GE(contrast(p["link"], p["raised"]), 3) << rule;  // outlines and lines
    EXPECT_GE(contrast(p["good"], p["sunk"]), 3) << rule;
  }
}

}  // namespace
}  // namespace quern
