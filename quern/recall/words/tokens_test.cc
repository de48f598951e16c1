// Words, normal forms and stems: English ones are NLTK's, German and French ones those of Snowball's published lists.
#include "quern/recall/words/tokens.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <thread>

#include "quern/base/error.h"
#include "quern/base/test_message.h"
#include "quern/recall/words/snowball.h"

namespace quern::recall {
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

TEST(Tokens, StemsOfOtherLanguagesAreSnowballs) {
  struct Example {
    const char *language, *word, *stem;
  };
  const Example examples[] = {{"german", "aufeinander", "aufeinand"},
                              {"german", "aufeinanderfolge", "aufeinanderfolg"},
                              {"german", "aufeinanderfolgenden", "aufeinanderfolg"},
                              {"german", "kategorien", "kategori"},
                              {"german", "katers", "kat"},
                              {"german", "kätzchen", "katzch"},
                              {"french", "continuait", "continu"},
                              {"french", "continuation", "continu"},
                              {"french", "continuellement", "continuel"},
                              {"french", "continuité", "continu"},
                              {"french", "majestueusement", "majestu"},
                              {"french", "maintenir", "mainten"}};
  for (const Example& e : examples) {
    std::string word = e.word;
    snowball_stem(word, e.language);
    EXPECT_EQ(word, e.stem) << e.word;
  }
  // Of a text: lower case and marks as for English, but the stem is that of the word with its marks.
  const TokenOptions german{.stem = true, .language = "german"}, french{.stem = true, .language = "french"};
  EXPECT_EQ(words_of("Die KÄTZCHEN, die Häuser", german), (Strings{"die", "katzch", "die", "haus"}));
  EXPECT_EQ(words_of("La Majorité continuait; majorite\xCC\x81", french),
            (Strings{"la", "major", "continu", "major"}));
  EXPECT_EQ(words_of("Книги и книга", {.stem = true, .language = "russian"}), (Strings{"книг", "и", "книг"}));
  // Only English function words are known; "the" without its mark is not French for what it is in English.
  EXPECT_EQ(words_of("du thé", {.stem = true, .drop_stopwords = true, .language = "french"}), (Strings{"du", "the"}));
}

TEST(Tokens, LanguagesAreNamed) {
  const Strings all = stem_languages();
  for (const char* l : {"english", "german", "french", "finnish", "russian"})
    EXPECT_EQ(std::count(all.begin(), all.end(), l), 1) << l;
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  for (const std::string& l : all) check_language(l);
  for (const char* wrong : {"", "porter", "German", "klingon"}) {
    const std::string message = message_of([&] { check_language(wrong); });
    EXPECT_NE(message.find(fmt::format("'{}'", wrong)), std::string::npos);
    EXPECT_NE(message.find("german"), std::string::npos);
    EXPECT_THROW(WordKeys({.stem = true, .language = wrong}), Error);
  }
  std::string word = "word";
  EXPECT_THROW(snowball_stem(word, "english"), Error);  // Porter's are kept
}

TEST(Tokens, ThreadsHaveStemmersOfTheirOwn) {
  const TokenOptions o{.stem = true, .language = "german"};
  std::string text;
  for (int i = 0; i < 3000; ++i) text += fmt::format("kategorien{} häuser{} ", i % 70, i % 90);
  const Strings expected = words_of(text, o);
  std::vector<Strings> got(4);
  {
    std::vector<std::jthread> threads;
    for (Strings& g : got) threads.emplace_back([&] { g = words_of(text, o); });
  }
  for (const Strings& g : got) EXPECT_EQ(g, expected);
}

TEST(Tokens, KeysAreThoseOfNormalForms) {
  const std::string text = "Grinding mills grind; the MILLS ground. Ça ça 東 Côtés continuité Häuser hauses";
  for (const char* language : {"english", "french", "german"}) {
    const TokenOptions o{.stem = true, .drop_stopwords = true, .language = language};
    WordKeys keys(o);
    for (int again = 0; again < 2; ++again) {  // the second time remembered
      std::vector<uint64_t> got, expected;
      keys.append(text, got);
      for (const std::string& w : words_of(text, o)) expected.push_back(word_key(w));
      EXPECT_EQ(got, expected) << language;
    }
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
}  // namespace quern::recall
