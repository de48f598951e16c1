// The merged tree against the texts that it was made of.
#include "quern/infer/cache/cache_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "quern/base/rng.h"

namespace quern::infer {
namespace {

using Tokens = std::vector<int32_t>;

TEST(CacheTree, MemoryAndDiskAreOneTree) {
  // In memory "1 2 3 4", then "5 6"; on disk "1 2 3 4 5 6 7" as one piece, left after "1 2" by "9 9".
  const std::vector<CacheEdge> memory{
      {.begin = 0, .tokens = {1, 2, 3, 4}, .bytes = 40, .snapshots = {4}, .hits = 2, .age = 5},
      {.parent = 0, .begin = 4, .tokens = {5, 6}, .bytes = 20, .age = 1}};
  const std::vector<CacheEdge> disk{
      {.begin = 0, .tokens = {1, 2, 3, 4, 5, 6, 7}, .bytes = 70, .snapshots = {4, 7}, .age = 9},
      {.parent = 0, .begin = 2, .tokens = {9, 9}, .bytes = 8, .age = 3}};
  const auto roots = cache_tree(memory, disk);
  ASSERT_EQ(roots.size(), 1u);
  ASSERT_EQ(roots[0]->children.size(), 1u);
  const CacheNode& shared = *roots[0]->children[0];
  EXPECT_EQ(shared.tokens, (Tokens{1, 2}));
  EXPECT_TRUE(shared.in_memory && shared.on_disk);
  EXPECT_EQ(shared.memory_bytes, 20);
  EXPECT_EQ(shared.disk_bytes, 20);
  EXPECT_EQ(shared.hits, 2);
  ASSERT_EQ(shared.children.size(), 2u);
  const CacheNode *on = shared.children[0].get(), *other = shared.children[1].get();
  if (on->tokens[0] == 9) std::swap(on, other);
  EXPECT_EQ(on->tokens, (Tokens{3, 4, 5, 6}));
  EXPECT_EQ(on->memory_bytes, 40);
  EXPECT_EQ(on->snapshots_in_memory, 1);
  EXPECT_EQ(on->snapshots_on_disk, 1);
  EXPECT_EQ(on->age, 1);
  ASSERT_EQ(on->children.size(), 1u);
  EXPECT_EQ(on->children[0]->tokens, (Tokens{7}));
  EXPECT_FALSE(on->children[0]->in_memory);
  EXPECT_EQ(on->children[0]->snapshots_on_disk, 1);
  EXPECT_EQ(other->begin, 2);
  EXPECT_FALSE(other->in_memory);
}

void collect(const CacheNode& n, Tokens path, std::set<Tokens>& memory, std::set<Tokens>& disk) {
  ASSERT_EQ(n.begin, std::ssize(path));
  for (int32_t t : n.tokens) {
    path.push_back(t);
    if (n.in_memory) memory.insert(path);
    if (n.on_disk) disk.insert(path);
  }
  std::set<int32_t> first;
  for (const auto& c : n.children) {
    EXPECT_TRUE(first.insert(c->tokens[0]).second) << "two children that begin alike";
    collect(*c, path, memory, disk);
  }
}

// Random edges of both kinds: every prefix is where it was put, and nowhere else.
TEST(CacheTree, RandomEdges) {
  Rng rng(3);
  const auto draw = [&](int64_t n) { return static_cast<int64_t>(rng.uniform() * static_cast<double>(n)); };
  for (int round = 0; round < 200; ++round) {
    std::vector<CacheEdge> edges[2];
    std::set<Tokens> expected[2];
    for (int place = 0; place < 2; ++place) {
      std::vector<Tokens> whole;  // of each edge, from the beginning of the text
      for (int64_t i = draw(12); i > 0; --i) {
        CacheEdge e{.parent = draw(std::ssize(whole) + 1) - 1};
        Tokens path;
        if (e.parent >= 0) {
          const CacheEdge& p = edges[place][static_cast<size_t>(e.parent)];
          e.begin = p.begin + 1 + draw(std::ssize(p.tokens));
          path = whole[static_cast<size_t>(e.parent)];
          path.resize(static_cast<size_t>(e.begin));
        }
        for (int64_t n = draw(5) + 1; n > 0; --n) e.tokens.push_back(static_cast<int32_t>(draw(2)));
        for (int32_t t : e.tokens) path.push_back(t), expected[place].insert(path);
        for (Tokens p = path; !p.empty(); p.pop_back()) expected[place].insert(p);
        edges[place].push_back(std::move(e)), whole.push_back(path);
      }
    }
    std::set<Tokens> memory, disk;
    for (const auto& root : cache_tree(edges[0], edges[1])) collect(*root, {}, memory, disk);
    EXPECT_EQ(memory, expected[0]);
    EXPECT_EQ(disk, expected[1]);
  }
}

}  // namespace
}  // namespace quern::infer
