// Bits of few documents among many, against a set.
#include "quern/corpus/tasks/document_bits.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace quern::corpus {
namespace {

TEST(DocumentBits, AreThoseThatWereSet) {
  constexpr uint64_t kDocuments = 12'000'000'000;
  DocumentBits bits(kDocuments);
  std::set<uint64_t> expected = {0, 4095, 4096, (uint64_t{1} << 32) - 1, uint64_t{1} << 32, kDocuments - 1};
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) expected.insert(random() % kDocuments);
  for (const uint64_t d : expected) bits.set(d), bits.set(d);
  std::vector<uint64_t> found;
  bits.each([&](uint64_t d) { found.push_back(d); });
  EXPECT_EQ(found, std::vector<uint64_t>(expected.begin(), expected.end()));
  EXPECT_EQ(bits.count(), expected.size());
  for (const uint64_t d : expected) {
    EXPECT_TRUE(bits[d]);
    EXPECT_EQ(bits[d ^ 1], expected.contains(d ^ 1));
  }
  EXPECT_LT(bits.bytes(), 25'000'000u);
}

}  // namespace
}  // namespace quern::corpus
