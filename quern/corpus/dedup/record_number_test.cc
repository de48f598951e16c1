// Record numbers on both sides of 2^32, alone and in what orders and groups them.
#include "quern/corpus/dedup/record_number.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>

#include "quern/corpus/dedup/candidates.h"

namespace quern::corpus {
namespace {

TEST(RecordNumber, OrdersAsItsValue) {
  std::vector<uint64_t> values = {
      0, 1, UINT32_MAX, uint64_t{UINT32_MAX} + 1, uint64_t{1} << 33, RecordNumber::kEnd - 1};
  for (const uint64_t a : values)
    for (const uint64_t b : values) {
      const RecordNumber x = a, y = b;
      EXPECT_EQ(x, a);
      EXPECT_EQ(x < y, a < b);
      EXPECT_EQ(x == y, a == b);
      const CandidatePair p{x, y}, q{y, x};
      EXPECT_EQ(p < q, std::pair(a, b) < std::pair(b, a));
    }
}

TEST(RecordNumber, OfSlicesThatBeginFarApart) {
  std::mt19937_64 random(2);
  std::vector<SpillFile> files;
  std::vector<RecordSlice> slices;
  std::map<uint64_t, std::vector<uint64_t>> expected;
  for (const uint64_t first : {uint64_t{0}, uint64_t{1} << 32, uint64_t{11'000'000'000}}) {
    SpillFile& f = files.emplace_back(std::filesystem::temp_directory_path());
    for (uint32_t d : {0u, 7u, 100u, UINT32_MAX}) {
      const uint64_t key = random() % 3 << 62;
      const BandRecord r{key, d};
      f.append(&r, sizeof r);
      expected[key].push_back(first + d);
    }
    f.flush();
    slices.push_back({nullptr, 0, 4, first});
  }
  for (size_t i = 0; i < files.size(); ++i) slices[i].file = &files[i];
  std::vector<std::vector<uint64_t>> wanted;
  for (auto& [key, documents] : expected) {
    std::ranges::sort(documents);
    if (documents.size() > 1) wanted.push_back(documents);
  }
  ASSERT_FALSE(wanted.empty());
  for (const int parts : {1, 3}) {
    std::vector<std::vector<uint64_t>> groups;
    for (int part = 0; part < parts; ++part)
      for_each_group(slices, 1 << 20,
                     [&](std::span<const RecordNumber> g) { groups.emplace_back(g.begin(), g.end()); },
                     {part, parts});
    EXPECT_EQ(groups, wanted) << parts;
  }
}

TEST(RecordNumber, CandidatesOnBothSidesOf32Bits) {
  // Documents 5 and 2^32 + 5 of two shards differ in their high byte alone; 2^33 + 5 was removed as an exact copy.
  constexpr uint64_t kFirst[] = {0, uint64_t{1} << 32, uint64_t{1} << 33};
  std::vector<SpillFile> files;
  Band band;
  for (int shard = 0; shard < 3; ++shard) {
    SpillFile& f = files.emplace_back(std::filesystem::temp_directory_path());
    const BandRecord same{77, 5}, alone{78 + static_cast<uint64_t>(shard), 6};
    f.append(&same, sizeof same), f.append(&alone, sizeof alone);
    f.flush();
  }
  for (size_t i = 0; i < files.size(); ++i) band.push_back({&files[i], 0, 2, kFirst[i]});
  const Band bands[] = {band, band};
  const Candidates c = find_candidates(bands, 1 << 20, [&](uint64_t d) { return d == kFirst[2] + 5; });
  const CandidatePair only{5, kFirst[1] + 5};
  EXPECT_EQ(c.pairs, std::vector<CandidatePair>{only});
  EXPECT_EQ(c.meetings, 2u);
  EXPECT_EQ(c.documents(), (std::vector<RecordNumber>{5, kFirst[1] + 5}));
}

}  // namespace
}  // namespace quern::corpus
