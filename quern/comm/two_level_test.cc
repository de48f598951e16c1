// Collectives in two levels against sums in the stated order, and against one level where nothing is rounded.
#include "quern/comm/two_level.h"

#include <limits>

#include "quern/comm/comm_test_world.h"

namespace quern::comm {
namespace {

// Nodes of ranks, as they come with one host after the other, with hosts by turns, and without any order.
struct Placement {
  std::vector<int> node_of;
};
const std::vector<Placement>& placements() {
  static const std::vector<Placement> all = {
      {{0, 0, 1, 1}}, {{7, 3, 7, 3}}, {{0, 0, 0, 1, 1, 1}}, {{1, 0, 2, 2, 0, 1}}, {{0, 0, 0}}, {{2, 1, 0}}, {{4}}};
  return all;
}

void every_placement(const std::function<void(Communicator&, std::span<const int>)>& fn) {
  for (const Placement& p : placements()) {
    const int n = static_cast<int>(p.node_of.size());
    if (!mpi_world) {
      run_ranks(n, [&](Communicator& c) { fn(c, p.node_of); }, {.timeout_s = 60});
    } else if (n <= mpi_world->size()) {
      const auto some = mpi_world->split(mpi_world->rank() < n ? 0 : -1, mpi_world->rank());
      if (some) fn(*some, p.node_of);
    }
  }
}

// Within nodes by rank, then over nodes by their first rank.
template <class T>
std::vector<T> summed_by_nodes(std::span<const int> node_of, int64_t n) {
  std::vector<int> nodes;
  for (const int node : node_of)
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
  std::vector<T> total;
  for (const int node : nodes) {
    std::vector<T> sum;
    for (size_t r = 0; r < node_of.size(); ++r) {
      if (node_of[r] != node) continue;
      const std::vector<T> v = values<T>(static_cast<int>(r), n);
      if (sum.empty())
        sum.assign(v.size(), T(0)), sum = v;
      else
        for (size_t i = 0; i < v.size(); ++i) sum[i] += v[i];
    }
    if (total.empty())
      total = sum;
    else
      for (size_t i = 0; i < sum.size(); ++i) total[i] += sum[i];
  }
  return total;
}

constexpr int64_t kSizes[] = {1, 2, 3, 5, 64, 4099, 20011};

template <class T>
void check_sums() {
  every_placement([](Communicator& c, std::span<const int> node_of) {
    TwoLevels levels(c, node_of);
    for (const int64_t n : kSizes) {
      const std::vector<T> expected = summed_by_nodes<T>(node_of, n);
      std::vector<T> x = values<T>(c.rank(), n);
      levels.all_reduce(x);
      expect_same_bits(x, expected);
      const std::vector<int64_t> counts = even_counts(n, c.size());
      const Range mine = even_range(n, c.size(), c.rank());
      std::vector<T> own(static_cast<size_t>(mine.end - mine.begin));
      levels.reduce_scatter(values<T>(c.rank(), n), counts, own);
      expect_same_bits(own, std::vector<T>(expected.begin() + mine.begin, expected.begin() + mine.end));
      std::vector<T> all(static_cast<size_t>(n));
      levels.all_gather(own, counts, all);
      expect_same_bits(all, expected);
    }
  });
}
TEST(TwoLevel, SumsWithinNodesThenOverNodes) {
  check_sums<float>();
  check_sums<double>();
}

// The order that is stated is another one: else the tests above could not tell the two apart.
TEST(TwoLevel, OrdersOfSumsDifferInTheirBits) {
  const std::vector<int> node_of = {0, 0, 1, 1};
  EXPECT_NE(summed_by_nodes<float>(node_of, 4099), summed<float>(4, 4099));
}

TEST(TwoLevel, WhatIsNotRoundedIsTheSameInOneLevel) {
  every_placement([](Communicator& c, std::span<const int> node_of) {
    TwoLevels levels(c, node_of);
    for (const int64_t n : kSizes) {
      std::vector<int64_t> one = values<int64_t>(c.rank(), n), two = one;
      c.all_reduce(one), levels.all_reduce(two);
      expect_same_bits(one, two);
      std::vector<float> a = values<float>(c.rank(), n);
      if (n > 3 && c.rank() == c.size() - 1) a[3] = std::numeric_limits<float>::quiet_NaN();
      std::vector<float> b = a;
      c.all_reduce(a, ReduceOp::max), levels.all_reduce(b, ReduceOp::max);
      expect_same_bits(a, b);
    }
  });
}

// Of S bytes a rank sends 2·(n−1)/n·S/d to other nodes, where sums in one level send 2·(p−d)/p·S, p = n·d.
TEST(TwoLevel, ANodeSendsItsBufferOnce) {
  every_placement([](Communicator& c, std::span<const int> node_of) {
    TwoLevels levels(c, node_of);
    const int64_t n = levels.nodes(), d = levels.ranks_of_node(), floats = 1200 * n * d;
    std::vector<float> x(static_cast<size_t>(floats), 1);
    levels.all_reduce(x);
    EXPECT_EQ(levels.sent_between_nodes(), 2 * (n - 1) * floats * 4 / (n * d));
  });
}

TEST(TwoLevel, PiecesMayHaveAnyLength) {
  every_placement([](Communicator& c, std::span<const int> node_of) {
    TwoLevels levels(c, node_of);
    std::vector<int64_t> counts;
    int64_t n = 0, begin = 0;
    for (int r = 0; r < c.size(); ++r) {
      if (r == c.rank()) begin = n;
      counts.push_back(r % 3 == 1 ? 0 : 7 * r + 1), n += counts.back();
    }
    const auto length = static_cast<size_t>(counts[static_cast<size_t>(c.rank())]);
    const std::vector<double> expected = summed_by_nodes<double>(node_of, n);
    std::vector<double> own(length), all(static_cast<size_t>(n));
    levels.reduce_scatter(values<double>(c.rank(), n), counts, own);
    for (size_t i = 0; i < length; ++i) EXPECT_EQ(own[i], expected[static_cast<size_t>(begin) + i]);
    levels.all_gather(own, counts, all);
    expect_same_bits(all, expected);
  });
}

TEST(TwoLevel, NodesHaveAsManyRanks) {
  THREADS_ONLY;
  run_ranks(3, [](Communicator& c) {
    const std::vector<int> uneven = {0, 0, 5};
    try {
      TwoLevels levels(c, uneven);
      ADD_FAILURE() << "uneven nodes were taken";
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("that of rank 0 has 2, that of rank 2 has 1"), std::string::npos)
          << e.what();
    }
    TwoLevels one(c, std::vector<int>{0, 0, 0}), each(c, std::vector<int>{0, 1, 2});
    EXPECT_FALSE(one.two());
    EXPECT_FALSE(each.two());
    EXPECT_EQ(host_numbers(c), (std::vector<int>{0, 0, 0}));
  });
}

}  // namespace
}  // namespace quern::comm
