// Planted loops are found, whatever their period up to a stretch; texts that do not repeat themselves are not.
#include "quern/rl/repetition.h"

#include <gtest/gtest.h>

#include "quern/base/rng.h"

namespace quern::rl {
namespace {

std::vector<int32_t> random_tokens(size_t n, uint64_t seed, uint64_t vocabulary) {
  Rng rng(seed);
  std::vector<int32_t> out(n);
  for (int32_t& t : out) t = static_cast<int32_t>(rng.below(vocabulary));
  return out;
}

TEST(Repetition, LoopsAreFoundAfterAnyBeginning) {
  for (size_t period : {1, 2, 7, 40, 100, 256})
    for (size_t before : {0, 100, 700}) {
      std::vector<int32_t> text = random_tokens(before, 3, 4096);
      const std::vector<int32_t> loop = random_tokens(period, 4, 4096);
      for (size_t i = 0; i < 1200; ++i) text.push_back(loop[i % period]);
      EXPECT_LT(min_compression(text), 0.05) << "period " << period << " after " << before;
    }
}

TEST(Repetition, OtherTextsAreNot) {
  EXPECT_GT(min_compression(random_tokens(3000, 1, 4096)), 0.3);
  EXPECT_GT(min_compression(random_tokens(3000, 1, 64)), 0.15) << "few different tokens";
  std::vector<int32_t> sums;  // "a + b = c;" with the same signs over and over
  Rng rng(5);
  for (int i = 0; i < 300; ++i)
    for (int32_t t : {static_cast<int32_t>(rng.below(900)) + 100, 7, static_cast<int32_t>(rng.below(900)) + 100, 9,
                      static_cast<int32_t>(rng.below(900)) + 100, 11})
      sums.push_back(t);
  EXPECT_GT(min_compression(sums), 0.1);
}

TEST(Repetition, ShortTextsAreNotJudged) {
  EXPECT_EQ(min_compression({}), 1);
  EXPECT_EQ(min_compression(std::vector<int32_t>(255, 7)), 1);
  EXPECT_LT(min_compression(std::vector<int32_t>(256, 7)), 0.05);
}

// A short last stretch belongs to the one before it, and does not decide alone.
TEST(Repetition, TheEndIsJudgedWithWhatStandsBefore) {
  std::vector<int32_t> text = random_tokens(512, 9, 4096);
  text.insert(text.end(), 100, 5);
  EXPECT_GT(min_compression(text), 0.2);
}

}  // namespace
}  // namespace quern::rl
