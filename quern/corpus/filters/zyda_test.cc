// Zyda's counts, squeezing and rules against an independent transcription in Python (testdata/zyda_rules.json, made
// by tools/oracles/corpus/zyda_rules.py), and the fast counts against the plain ones.
#include <gtest/gtest.h>

#include <random>

#include "quern/base/cpu.h"
#include "quern/base/json.h"
#include "quern/corpus/filters/zyda_filter.h"
#include "quern/corpus/text/char_class.h"
#include "quern/text/unicode/unicode.h"
#include "quern/text/unicode/utf8.h"

namespace quern::corpus {
namespace {

const Json& golden() {
  static const Json j = Json::read(QUERN_SOURCE_DIR "/quern/corpus/filters/testdata/zyda_rules.json");
  return j;
}

// The table leaves planes without letters out.
TEST(CharClasses, AllCodePoints) {
  const uint8_t* cls = char_classes();
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    const bool word = text::unicode_is_letter(c) || text::unicode_is_number(c) || c == '_';
    const bool space = text::unicode_is_space(c) || (c >= 0x1C && c <= 0x1F);
    const int expected = word * kWordChar + space * kSpaceChar + text::unicode_is_digit(c) * kDigitChar +
                         text::unicode_is_cased(c) * kCasedChar;
    ASSERT_EQ(cls[c], expected) << static_cast<uint32_t>(c);
  }
}

TEST(Zyda, CountsAndRulesAreTheTranscriptions) {
  int rejected = 0;
  for (const Json& c : golden().as_array()) {
    const std::string& text = c.at("text").as_string();
    ZydaFeatures f;
    std::string squeezed;
    const std::string_view goes_on = zyda_features(text, squeezed, f);
    EXPECT_EQ(goes_on, c.at("squeezed").is_null() ? text : c.at("squeezed").as_string()) << text;
    const auto same = [&](const char* name, uint64_t n) {
      EXPECT_EQ(static_cast<int64_t>(n), c.at(name).as_int()) << name << " of " << c.at("text").dump();
    };
    same("chars", f.chars), same("separators", f.separators), same("symbols", f.symbols), same("digits", f.digits);
    same("xml", f.xml), same("xml_version", f.xml_version), same("lorem_ipsum", f.lorem_ipsum),
        same("https", f.https);
    same("less", f.less), same("greater", f.greater), same("quote_colon", f.quote_colon), same("www", f.www);
    same("length", f.length), same("runs", f.runs);
    EXPECT_DOUBLE_EQ(f.mean_word_length(), c.at("mean").as_double());
    const auto filter = zyda_filter()();
    const FilterResult j = filter->apply(text);
    std::vector<std::string> failing, expected;
    for (int i = 0; i < kZydaRules; ++i)
      if (j.failing >> i & 1) failing.emplace_back(filter->rules()[static_cast<size_t>(i)]);
    for (const Json& r : c.at("failing").as_array()) expected.push_back(r.as_string());
    EXPECT_EQ(failing, expected) << c.at("text").dump();
    rejected += !j.keep();
  }
  EXPECT_GT(rejected, 20);
}

TEST(Zyda, FastCountsEqualPlainOnes) {
  if (detected_isa() < Isa::avx2) GTEST_SKIP() << "no AVX2 here";
  std::mt19937 random(8);
  const std::string pieces[] = {
      "xml version=", "www", "w",    "\n", "https://", "lorem ipsum", "\":",  "<",     ">", "a",       "aa", "1",
      "  ",           "é",   "中中", "_",  "----",     ".",           "\t\t", "word ", "-", "\xC2\xA0"};
  for (int trial = 0; trial < 3000; ++trial) {
    std::string s;
    const size_t n = random() % 120;
    for (size_t i = 0; i < n; ++i) s += pieces[random() % (trial % 2 ? std::size(pieces) : 4)];
    if (trial % 3 == 0) s += std::string(random() % 60, "-_ x."[random() % 5]);
    ZydaFeatures plain, fast;
    const RunHints a = zyda::count_ref(s, plain), b = zyda::count_avx2(s, fast);
    ASSERT_EQ(plain, fast) << s;
    std::string out;
    uint64_t dropped = 0;
    const bool changes = squeeze_zyda(s, out, dropped);
    ASSERT_TRUE(!changes || (a.squeeze && b.squeeze)) << s;
    ASSERT_TRUE(count_runs(s) == 0 || (a.runs && b.runs)) << s;
    ASSERT_EQ(text::utf8_length(changes ? out : s) + dropped, text::utf8_length(s));
  }
}

TEST(Zyda, ThresholdsAreStrict) {
  ZydaFeatures f;
  f.chars = f.length = 1000, f.separators = 199;
  EXPECT_EQ(zyda_failing(f, {}), 0u);
  f.https = 2;
  EXPECT_EQ(zyda_failing(f, {}), 0u);
  f.https = 3;
  EXPECT_EQ(zyda_failing(f, {}), 1u << 9);
  EXPECT_EQ(zyda_failing(f, {.zh = 2, .sexual = 11, .profanity = 3, .cursed = 11}),
            1u << 9 | 1u << 13 | 1u << 14 | 1u << 15 | 1u << 16 | 1u << 17);
  f = {};
  EXPECT_EQ(zyda_failing(f, {}), 3u);  // no text: too short, and no words
}

}  // namespace
}  // namespace quern::corpus
