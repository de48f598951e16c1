// Planning: greedy walks on the values are shortest ones (breadth-first search says so), goals and walls move, and
// the values are those of the memory's kernel.
#include "quern/recall/graph/planner.h"

#include <gtest/gtest.h>

#include <cmath>

#include "quern/base/test_message.h"

namespace quern::recall {
namespace {

GridWorld walled() {
  GridWorld w(8, 8);
  w.wall(4, 0, 4, 6);  // seven cells; the way round is at the bottom
  return w;
}

TEST(PlannerTest, GoesRoundTheWall) {
  const GridWorld w = walled();
  const Planner p(w.graph(), 0.95);
  const uint32_t from = w.state(0, 0), goal = w.state(7, 0);
  const auto path = p.path(from, goal);
  ASSERT_FALSE(path.empty());
  EXPECT_EQ(static_cast<int64_t>(path.size()) - 1, w.distance(from, goal));
  EXPECT_EQ(w.distance(from, goal), 21);
  for (size_t i = 1; i < path.size(); ++i) EXPECT_EQ(w.distance(path[i - 1], path[i]), 1);
  // Straight on, by distance as the crow flies alone, ends at the wall.
  EXPECT_TRUE(w.is_wall(w.state(4, 0)));
}

TEST(PlannerTest, EveryPairInAMaze) {
  const GridWorld w = GridWorld::parse("......#..\n.####.#.#\n.#....#..\n.#.######\n.#.......\n...#####.\n");
  const Planner p(w.graph(), 0.9);
  int arrived = 0, shortest = 0;
  for (uint32_t goal = 0; goal < w.size(); ++goal) {
    if (w.is_wall(goal)) continue;
    const auto v = p.values(goal);
    for (uint32_t from = 0; from < w.size(); ++from) {
      if (w.is_wall(from)) continue;
      const auto path = p.path(from, goal, v);
      ASSERT_EQ(path.empty(), w.distance(from, goal) < 0) << from << " to " << goal;
      if (path.empty()) continue;
      ++arrived;
      shortest += static_cast<int64_t>(path.size()) - 1 == w.distance(from, goal);
    }
  }
  EXPECT_GT(arrived, 700);
  EXPECT_EQ(shortest, arrived);
}

TEST(PlannerTest, ValuesAreTheColumnsOfTheSuccessorRepresentation) {
  const GridWorld w = walled();
  const Planner p(w.graph(), 0.95);
  const auto v = p.values(w.state(6, 3));
  for (uint32_t s = 0; s < w.size(); s += 5)
    EXPECT_NEAR(p.occupancy(s)[w.state(6, 3)], v[s], 1e-8);  // row s of M at the goal = column of the goal at s
}

TEST(PlannerTest, AGoalMovesWithoutLearning) {
  const GridWorld w = walled();
  const Planner p(w.graph(), 0.95);
  std::vector<double> reward(w.size());
  reward[w.state(7, 0)] = 1, reward[w.state(0, 7)] = 3;
  const auto a = p.values(w.state(7, 0)), b = p.values(w.state(0, 7)), both = p.values(reward);
  for (uint32_t s = 0; s < w.size(); ++s) EXPECT_NEAR(both[s], a[s] + 3 * b[s], 1e-9);
}

TEST(PlannerTest, AWallMovesAndValuesAreRepaired) {
  GridWorld w = walled();
  Planner p(w.graph(), 0.95);
  const uint32_t from = w.state(0, 0), goal = w.state(7, 0);
  std::vector<double> reward(w.size()), v = p.values(goal);
  reward[goal] = 1;
  w.clear(4, 2, 4, 2);  // a gate opens
  EXPECT_GT(p.repair(w.graph(), reward, 1e-12, v), 0);
  const Planner fresh(w.graph(), 0.95);
  const auto expected = fresh.values(goal);
  for (uint32_t s = 0; s < w.size(); ++s) EXPECT_NEAR(v[s], expected[s], 1e-9);
  EXPECT_EQ(static_cast<int64_t>(p.path(from, goal, v).size()) - 1, w.distance(from, goal));
  EXPECT_EQ(w.distance(from, goal), 11);
  w.wall(4, 2, 4, 2);  // and closes
  p.repair(w.graph(), reward, 1e-12, v);
  EXPECT_EQ(p.path(from, goal, v).size(), 22u);
}

TEST(PlannerTest, MistakesAreNamed) {
  EXPECT_NE(message_of([] { GridWorld::parse("..\n.\n"); }).find("row 1"), std::string::npos);
  EXPECT_NE(message_of([] { GridWorld::parse(".x"); }).find("'x'"), std::string::npos);
  EXPECT_NE(message_of([] { Planner(GridWorld(2, 2).graph(), 1); }).find("discount"), std::string::npos);
  EXPECT_NE(message_of([] { GridWorld(2, 2).state(2, 0); }).find("cell 2, 0"), std::string::npos);
}

}  // namespace
}  // namespace quern::recall
