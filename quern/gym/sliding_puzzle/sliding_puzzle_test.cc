// Moves are replayed on the text of the board. A breadth-first search finds other ways, which are accepted too.
#include <gtest/gtest.h>

#include <map>
#include <queue>

#include "quern/gym/verifier_checks.h"

namespace quern::gym {
namespace {

using Board = std::vector<std::string>;

Board board_of(const Problem& p) {
  std::string text = p.question.substr(p.question.rfind(": ") + 2);
  std::ranges::replace(text, '/', ' ');
  return plain_answer_words(text);
}

Board goal_of(size_t n) {
  Board b;
  for (size_t i = 1; i < n; ++i) b.push_back(std::to_string(i));
  b.push_back("_");
  return b;
}

bool slide(Board& b, const std::string& tile) {
  const auto at = std::ranges::find(b, tile), empty = std::ranges::find(b, "_");
  if (at == b.end() || tile == "_") return false;
  const long side = b.size() == 9 ? 3 : 4, i = at - b.begin(), j = empty - b.begin();
  const bool in_row = i / side == j / side && std::abs(i - j) == 1, in_column = std::abs(i - j) == side;
  if (in_row || in_column) std::iter_swap(at, empty);
  return in_row || in_column;
}

bool brings_order(const Problem& p, const std::string& given) {
  Board b = board_of(p);
  for (const std::string& tile : plain_answer_words(given))
    if (!slide(b, tile)) return false;
  return b == goal_of(b.size());
}

TEST(SlidingPuzzle, IsRight) { check_verifier("sliding_puzzle", brings_order); }
TEST(SlidingPuzzle, HasTheProperties) { check_environment("sliding_puzzle", {.wrong = 1}); }

TEST(SlidingPuzzle, AcceptsTheShortestAndLongerWays) {
  const NamedEnvironment& e = plugin_environments().find("sliding_puzzle");
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Problem p = e.generate(seed, static_cast<int64_t>(seed % 6));
    const Board start = board_of(p);
    std::map<Board, std::string> ways = {{start, ""}};
    std::queue<Board> queue({start});
    while (!ways.contains(goal_of(9))) {
      const Board b = queue.front();
      queue.pop();
      for (int tile = 1; tile < 9; ++tile)
        if (Board next = b;
            slide(next, std::to_string(tile)) && ways.emplace(next, fmt::format("{} {}", ways[b], tile)).second)
          queue.push(next);
    }
    const std::string way = ways[goal_of(9)];
    EXPECT_EQ(e.verify(p, "Answer:" + way).reward, 1) << p.question << way;
    EXPECT_EQ(e.verify(p, "Answer:" + way + " 8 8").reward, 1);  // there and back
    EXPECT_EQ(e.verify(p, "Answer:" + way + " 8").reason, "the board is not in order after the moves");
    EXPECT_EQ(e.verify(p, "Answer:" + way + " 1").reason, "tile 1 cannot slide");
  }
}

}  // namespace
}  // namespace quern::gym
