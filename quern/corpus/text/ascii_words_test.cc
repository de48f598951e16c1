// 64 characters at a time against one at a time, over texts in pieces of all lengths.
#include "quern/corpus/text/ascii_words.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace quern::corpus {
namespace {

struct Words {
  std::string text;
  std::vector<uint32_t> begin;
  unsigned between;
  bool operator==(const Words&) const = default;
};

Words words(void (*f)(const char*, size_t, WordState&), const std::vector<std::string>& pieces) {
  size_t total = 0;
  for (const std::string& p : pieces) total += p.size();
  std::string out(total + 64, '\0');
  std::vector<uint32_t> begin(total / 2 + 2);
  WordState w{.out = out.data(), .begin = begin.data()};
  for (const std::string& p : pieces) f(p.data(), p.size(), w);
  return {out.substr(0, w.n), {begin.begin(), begin.begin() + static_cast<std::ptrdiff_t>(w.tokens)}, w.between};
}

TEST(AsciiWords, OneByOneIsWhatItSays) {
  const Words w = words(ascii_words_ref, {"  Don't  stop,\tA.B ", "- c", "D !"});
  EXPECT_EQ(w.text, "dont stop ab cd ");
  EXPECT_EQ(w.begin, (std::vector<uint32_t>{0, 5, 10, 13}));
  EXPECT_EQ(w.between, 1u);
}

void expect_the_same(void (*many)(const char*, size_t, WordState&)) {
  std::mt19937 random(8);
  const std::string alphabets[] = {"aB ", "a.", " .", "abcdefghij klmnop QRSTUVWXYZ.,\n", [] {
                                     std::string all;
                                     for (char c = 0; c < 127; ++c) all += c;
                                     return all + '\x7f';
                                   }()};
  for (int trial = 0; trial < 20000; ++trial) {
    const std::string& alphabet = alphabets[trial % 5];
    std::vector<std::string> pieces(1 + random() % 3);
    for (std::string& p : pieces) {
      p.resize(random() % (trial % 7 == 0 ? 300 : 70));
      for (char& c : p) c = alphabet[random() % alphabet.size()];
    }
    ASSERT_EQ(words(many, pieces), words(ascii_words_ref, pieces)) << "trial " << trial;
  }
}

TEST(AsciiWords, ManyAtATimeAreTheSameWithAvx512) {
  if (!has_ascii_words_avx512()) GTEST_SKIP() << "no AVX-512 VBMI2 here";
  expect_the_same(ascii_words_avx512);
}

TEST(AsciiWords, ManyAtATimeAreTheSameWithAvx2) {
  if (!has_ascii_words_avx2()) GTEST_SKIP() << "no AVX2 and BMI2 here";
  expect_the_same(ascii_words_avx2);
}

}  // namespace
}  // namespace quern::corpus
