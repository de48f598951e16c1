// Words, normal forms and stems; the stems are NLTK's.
#include "quern/recall/words/tokens.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

namespace quern {
namespace {

using Strings = std::vector<std::string>;

TEST(Tokens, Words) {
  EXPECT_EQ(words_of("The Mill's 3rd wheel, snake_case; x=1"),
            (Strings{"the", "mill", "s", "3rd", "wheel", "snake", "case", "x", "1"}));
  EXPECT_EQ(words_of("Ça coûte – naïve ﬁne Straße ΑΘΉΝΑ"),
            (Strings{"ca", "coute", "naive", "fine", "straße", "αθηνα"}));
  EXPECT_EQ(words_of("東京へ行くabc"), (Strings{"東", "京", "へ", "行", "く", "abc"}));
  EXPECT_EQ(words_of("cafe\xCC\x81 caf\xC3\xA9"), (Strings{"cafe", "cafe"}));
  EXPECT_EQ(words_of(""), Strings{});
  EXPECT_EQ(words_of(" .,;!? "), Strings{});
}

TEST(Tokens, IllFormedBytesSeparate) {
  EXPECT_EQ(words_of("ab\xFFmill\xC3 x\xE2\x82"), (Strings{"ab", "mill", "x"}));
  EXPECT_EQ(words_of(std::string("a\0b", 3)), (Strings{"a", "b"}));
}

TEST(Tokens, OffsetsCutTheText) {
  const std::string text = "Ünder the 東 mill";
  std::vector<std::pair<size_t, size_t>> at;
  for_each_word(text, [&](size_t b, size_t e) { at.emplace_back(b, e); });
  ASSERT_EQ(at.size(), 4u);
  EXPECT_EQ(text.substr(at[0].first, at[0].second - at[0].first), "Ünder");
  EXPECT_EQ(text.substr(at[2].first, at[2].second - at[2].first), "東");
  EXPECT_EQ(text.substr(at[3].first, at[3].second - at[3].first), "mill");
}

TEST(Tokens, StopwordsAndStems) {
  EXPECT_EQ(words_of("Why are the millers of Dee grinding?", {.stem = true, .drop_stopwords = true}),
            (Strings{"miller", "dee", "grind"}));
  for (const char* w : {"a", "about", "the", "those", "through", "to", "yours", "don"})
    EXPECT_TRUE(is_stopword(w)) << w;
  EXPECT_FALSE(is_stopword("mill"));
}

TEST(Tokens, StemsAreNltks) {
  std::ifstream in(std::string(QUERN_SOURCE_DIR) + "/tests/goldens/recall/stems.txt");
  int n = 0;
  for (std::string word, stem; in >> word >> stem; ++n) {
    std::string mine = word;
    porter_stem(mine);
    EXPECT_EQ(mine, stem) << word;
  }
  EXPECT_GT(n, 1500);
}

TEST(Tokens, KeysAreThoseOfNormalForms) {
  const TokenOptions o{.stem = true, .drop_stopwords = true};
  WordKeys keys(o);
  const std::string text = "Grinding mills grind; the MILLS ground. Ça ça 東";
  for (int again = 0; again < 2; ++again) {  // the second time remembered
    std::vector<uint64_t> got, expected;
    keys.append(text, got);
    for (const std::string& w : words_of(text, o)) expected.push_back(word_key(w));
    EXPECT_EQ(got, expected);
  }
}

TEST(Tokens, KeysDiffer) {
  std::set<uint64_t> seen;
  size_t n = 0;
  for (int length = 0; length < 40; ++length)
    for (char c : {'a', 'b'}) {
      seen.insert(word_key(std::string(static_cast<size_t>(length), c)));
      ++n;
      std::string w(static_cast<size_t>(length), 'a');
      for (size_t i = 0; i < w.size(); ++i) {
        w[i] = 'z';
        seen.insert(word_key(w));
        w[i] = 'a';
        ++n;
      }
    }
  EXPECT_EQ(seen.size(), n - 1 - 780);  // the empty word twice; the words with a z twice
}

TEST(KeyMapTest, NumbersInOrder) {
  KeyMap map;
  for (uint32_t i = 0; i < 5000; ++i) EXPECT_EQ(map.insert(mix64(i), i), i);
  for (uint32_t i = 0; i < 5000; ++i) EXPECT_EQ(map.insert(mix64(i), 9999), i);
  EXPECT_EQ(map.find(mix64(5000)), KeyMap::kNone);
  EXPECT_EQ(map.size(), 5000u);
}

}  // namespace
}  // namespace quern
