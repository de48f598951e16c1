// Trees of moves: what the lists hold against the closed forms, and a reduction whose result shows the order of its
// operands; the network model against sums done by hand.
#include "quern/comm/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <mutex>
#include <set>

#include "quern/comm/in_process.h"
#include "quern/comm/network.h"

namespace quern::comm {
namespace {

// Concatenation: associative, not commutative. A record is a text of up to 63 letters.
struct Text {
  char letters[64] = {};
};
RecordMerge concatenation() {
  return {sizeof(Text), [](const std::byte* left, const std::byte* right, std::byte* into, int64_t n) {
            for (int64_t i = 0; i < n; ++i) {
              const std::string a = reinterpret_cast<const Text*>(left)[i].letters,
                                b = reinterpret_cast<const Text*>(right)[i].letters;
              std::strcpy(reinterpret_cast<Text*>(into)[i].letters, (a + b).c_str());
            }
          }};
}

std::vector<std::string> concatenated(int ranks, const std::function<CommSchedule(int)>& schedule,
                                      int64_t* sent = nullptr) {
  std::vector<std::string> out(static_cast<size_t>(ranks));
  std::mutex m;
  run_ranks(ranks, [&](Communicator& c) {
    std::vector<Text> x(2), arrived(2);
    x[0].letters[0] = static_cast<char>('a' + c.rank());
    x[1].letters[0] = static_cast<char>('A' + c.rank());
    reduce_along(c, schedule(c.rank()), std::as_writable_bytes(std::span(x)),
                 std::as_writable_bytes(std::span(arrived)), concatenation());
    const std::lock_guard lock(m);
    out[static_cast<size_t>(c.rank())] = std::string(x[0].letters) + "/" + x[1].letters;
    if (sent) *sent += c.sent().bytes;
  });
  return out;
}

int64_t butterfly_records(int64_t p) {
  const int64_t whole = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(p)));
  return whole * std::countr_zero(static_cast<uint64_t>(whole)) + 2 * (p - whole);
}

TEST(Tree, ButterflyJoinsInOneOrderEverywhere) {
  for (int p : {1, 2, 3, 4, 5, 7, 8, 13}) {
    int64_t sent = 0;
    const auto out = concatenated(
        p, [&](int r) { return butterfly_schedule(r, p); }, &sent);
    for (const std::string& s : out) EXPECT_EQ(s, out[0]) << p << " ranks";
    std::string letters = out[0].substr(0, static_cast<size_t>(p));
    if (std::has_single_bit(static_cast<unsigned>(p))) {
      EXPECT_EQ(letters, std::string("abcdefgh").substr(0, static_cast<size_t>(p)));
    }
    std::sort(letters.begin(), letters.end());
    EXPECT_EQ(letters, std::string("abcdefghijklm").substr(0, static_cast<size_t>(p)));
    EXPECT_EQ(sent, butterfly_records(p) * 2 * static_cast<int64_t>(sizeof(Text))) << p << " ranks";
  }
}

TEST(Tree, TwoLevelsOfAnyPlacement) {
  for (const std::vector<int>& node_of : std::vector<std::vector<int>>{{0},
                                                                       {0, 0, 0},
                                                                       {0, 1, 2},
                                                                       {0, 0, 1, 1},
                                                                       {5, 9, 5, 9, 9, 5, 9},
                                                                       {0, 0, 0, 0, 0, 1},
                                                                       {2, 1, 0, 2, 1, 0, 2, 2}}) {
    const int p = static_cast<int>(node_of.size());
    const auto nodes = static_cast<int64_t>(std::set<int>(node_of.begin(), node_of.end()).size());
    int64_t sent = 0;
    const auto schedule = [&](int r) { return two_level_schedule(r, node_of); };
    const auto out = concatenated(p, schedule, &sent);
    for (const std::string& s : out) EXPECT_EQ(s, out[0]);
    std::string letters = out[0].substr(0, static_cast<size_t>(p));
    std::sort(letters.begin(), letters.end());
    EXPECT_EQ(letters, std::string("abcdefgh").substr(0, static_cast<size_t>(p)));
    EXPECT_EQ(sent, (2 * (p - nodes) + butterfly_records(nodes)) * 2 * static_cast<int64_t>(sizeof(Text)));
    const Replay r = replay({{1, 1}, {1, 1}, node_of}, schedule, 1);
    EXPECT_EQ(r.far_bytes, butterfly_records(nodes)) << "one record a node and round between nodes";
  }
}

TEST(Tree, GatherAlongTheRing) {
  for (int p : {1, 2, 5})
    run_ranks(p, [&](Communicator& c) {
      std::vector<int32_t> all(static_cast<size_t>(3 * p), -1), expected;
      for (int r = 0; r < p; ++r) expected.insert(expected.end(), 3, r);
      std::fill_n(all.begin() + 3 * c.rank(), 3, c.rank());
      gather_along_ring(c, std::as_writable_bytes(std::span(all)));
      EXPECT_EQ(all, expected);
      EXPECT_EQ(c.sent().messages, p - 1);
      EXPECT_EQ(c.sent().bytes, (p - 1) * 12);
    });
}

TEST(Network, ButterflyRingAndDirectByHand) {
  const Link near{2, 100}, far{10, 10};
  for (int p : {2, 4, 8, 64}) {
    const double rounds = std::log2(p);
    const Network flat{near, far, std::vector<int>(static_cast<size_t>(p), 0)};
    const Replay tree = replay(
        flat, [&](int r) { return butterfly_schedule(r, p); }, 100, 5);
    EXPECT_DOUBLE_EQ(tree.seconds, 5 + rounds * 3);
    EXPECT_EQ(tree.steps, std::countr_zero(static_cast<unsigned>(p)));
    EXPECT_EQ(tree.bytes, p * static_cast<int64_t>(rounds) * 100);
    EXPECT_EQ(tree.far_bytes, 0);
    const Replay ring = replay(
        flat, [&](int r) { return ring_schedule(r, p); }, 100);
    EXPECT_DOUBLE_EQ(ring.seconds, (p - 1) * 3);
    EXPECT_EQ(ring.bytes, static_cast<int64_t>(p) * (p - 1) * 100);
    EXPECT_DOUBLE_EQ(replay(
                         flat, [&](int r) { return ring_schedule(r, p); }, 100, 0, 7)
                         .seconds,
                     (p - 1) * 7)
        << "work beside the moves hides them";
    EXPECT_DOUBLE_EQ(replay(
                         flat, [&](int r) { return direct_schedule(r, p); }, 100)
                         .seconds,
                     (p - 1) * 3);
  }
  // Two nodes of two ranks: the first round is near, the second far.
  EXPECT_DOUBLE_EQ(replay(
                       {near, far, contiguous_nodes(4, 2)}, [](int r) { return butterfly_schedule(r, 4); }, 100)
                       .seconds,
                   3 + 20);
  EXPECT_DOUBLE_EQ(replay(
                       {near, far, {0, 1, 0, 1}}, [](int r) { return butterfly_schedule(r, 4); }, 100)
                       .seconds,
                   20 + 3);
  // Rank 2's state is with rank 0 after 3. Rank 1's has long been there, so rank 0 is free once its own has left (1),
  // and the result is with rank 2 after 3 more.
  EXPECT_DOUBLE_EQ(replay(
                       {near, far, {0, 0, 0}}, [](int r) { return butterfly_schedule(r, 3); }, 100)
                       .seconds,
                   3 + 1 + 3);
}

TEST(Network, ShuffledNodesAreFullNodes) {
  const std::vector<int> n = shuffled_nodes(64, 8, 3);
  EXPECT_NE(n, contiguous_nodes(64, 8));
  for (int i = 0; i < 8; ++i) EXPECT_EQ(std::count(n.begin(), n.end(), i), 8);
  EXPECT_THROW(contiguous_nodes(4, 0), Error);
}

}  // namespace
}  // namespace quern::comm
