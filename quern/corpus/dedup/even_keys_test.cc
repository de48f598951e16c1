#include "quern/corpus/dedup/even_keys.h"

#include <gtest/gtest.h>

#include "quern/base/rng.h"
#include "quern/corpus/dedup/candidates.h"

namespace quern::corpus {
namespace {

struct Made {
  const char* what;
  uint64_t (*key)(const Rng& rng, uint64_t i);
  uint64_t ranges = 1;
};

TEST(EvenKeys, AreSortedWhateverTheyAre) {
  const Made made[] = {
      {"even", [](const Rng& rng, uint64_t i) { return rng.bits(i); }},
      {"half of them twice", [](const Rng& rng, uint64_t i) { return rng.bits(i / 2); }},
      {"one key", [](const Rng&, uint64_t) { return uint64_t{7}; }},
      {"the smallest and the largest", [](const Rng& rng, uint64_t i) { return rng.bits(i) % 2 ? ~uint64_t{0} : 0; }},
      {"small numbers", [](const Rng& rng, uint64_t i) { return rng.bits(i) % 1000; }},
      {"the second of three ranges",
       [](const Rng& rng, uint64_t i) { return ~uint64_t{0} / 3 + 1 + rng.bits(i) % (~uint64_t{0} / 3 - 1); }, 3}};
  for (const Made& m : made)
    for (const size_t n : {0, 1, 2, 63, 64, 100, 5000, 1'100'000}) {
      if (n > 5000 && m.key != made[0].key) continue;
      const Rng rng(n);
      std::vector<BandRecord> records(n);
      for (size_t i = 0; i < n; ++i) records[i] = {m.key(rng, i), static_cast<uint32_t>(rng.bits(1'000'000'000 + i))};
      std::vector<std::pair<uint64_t, uint32_t>> expected, got;
      for (const BandRecord& r : records) expected.emplace_back(r.key, r.document);
      std::sort(expected.begin(), expected.end());
      sort_even_keys(records, m.ranges);
      for (const BandRecord& r : records) got.emplace_back(r.key, r.document);
      EXPECT_EQ(got, expected) << m.what << ", " << n;
    }
}

}  // namespace
}  // namespace quern::corpus
