// Sets of rows as runs, against sets of single rows.
#include "quern/memory/plan/row_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "quern/base/rng.h"

namespace quern::memory {
namespace {

std::vector<uint32_t> drawn(Rng& rng, uint64_t most) {
  std::set<uint32_t> rows;
  for (uint64_t n = rng.below(12); n > 0; --n) {
    const auto lo = static_cast<uint32_t>(rng.below(most)), hi = lo + static_cast<uint32_t>(rng.below(6));
    for (uint32_t r = lo; r <= hi; ++r) rows.insert(r);
  }
  return {rows.begin(), rows.end()};
}

TEST(RowRuns, AreTheSetsThatTheyStandFor) {
  Rng rng(5);
  for (int n = 0; n < 2000; ++n) {
    const std::vector<uint32_t> a = drawn(rng, 60), b = drawn(rng, 60);
    const RowRuns x = RowRuns::of(a), y = RowRuns::of(b);
    EXPECT_EQ(x.rows(), a);
    EXPECT_EQ(x.size(), a.size());
    EXPECT_EQ(x.empty(), a.empty());
    EXPECT_TRUE(a.empty() || (x.front() == a.front() && x.back() == a.back()));
    std::vector<uint32_t> both, either, less;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(either));
    std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(less));
    EXPECT_EQ(x & y, RowRuns::of(both));
    EXPECT_EQ(x | y, RowRuns::of(either));
    EXPECT_EQ(x - y, RowRuns::of(less));
    for (uint32_t r = 0; r < 70; ++r) EXPECT_EQ(x.contains(r), std::binary_search(a.begin(), a.end(), r));
    std::vector<RowRun> mixed = y.runs();
    mixed.insert(mixed.end(), x.runs().begin(), x.runs().end());
    EXPECT_EQ(RowRuns::joined(mixed), x | y);
    const size_t first = rng.below(20), last = first + rng.below(20);
    std::vector<uint32_t> some;
    for (size_t i = first; i <= last && i < a.size(); ++i) some.push_back(a[i]);
    EXPECT_EQ(x.places(first, last).rows(), some);
    for (size_t i = 1; i < x.runs().size(); ++i) EXPECT_GT(x.runs()[i].lo, x.runs()[i - 1].hi);
  }
}

TEST(RowRuns, RowsBelowANumberAreOneRun) {
  EXPECT_EQ(RowRuns::below(7).runs(), (std::vector<RowRun>{{0, 7}}));
  EXPECT_TRUE(RowRuns::below(0).empty());
  EXPECT_EQ(RowRuns::below(9).where([](uint32_t r) { return r % 3 != 0; }).runs(),
            (std::vector<RowRun>{{1, 3}, {4, 6}, {7, 9}}));
}

}  // namespace
}  // namespace quern::memory
