// Places of documents by numbers on both sides of 2^32, against the order they were made from.
#include "quern/corpus/dedup/document_places.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace quern::corpus {
namespace {

TEST(DocumentPlaces, AreThoseOfTheOrder) {
  std::mt19937_64 random(4);
  std::set<uint64_t> numbers = {0, UINT32_MAX, uint64_t{UINT32_MAX} + 1, RecordNumber::kEnd - 1};
  while (numbers.size() < 500) numbers.insert(random() % RecordNumber::kEnd);
  std::vector<uint64_t> order(numbers.begin(), numbers.end());
  std::ranges::shuffle(order, random);
  const DocumentPlaces places(order.size(), [&](size_t i) { return order[i]; });
  for (size_t i = 0; i < order.size(); ++i) EXPECT_EQ(places.of(order[i]), i);
  EXPECT_DEATH(places.of(1), "document 1 is no candidate");
}

}  // namespace
}  // namespace quern::corpus
