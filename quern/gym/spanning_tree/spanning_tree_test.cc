// Costs are found again by growing one tree (Prim's algorithm), and of few roads by trying every set of them.
#include <limits>
#include <set>

#include "quern/gym/answer_checks.h"
#include "quern/gym/check_environment.h"

namespace quern::gym {
namespace {

using Roads = std::vector<std::vector<int64_t>>;  // from, to, cost

// The cost of a cheapest tree, -1 where the roads do not join all places.
int64_t grown(const Roads& roads, int64_t n) {
  std::set<int64_t> in = {1};
  int64_t sum = 0;
  while (std::ssize(in) < n) {
    const std::vector<int64_t>* best = nullptr;
    for (const auto& v : roads)
      if (in.contains(v[0]) != in.contains(v[1]) && (!best || v[2] < (*best)[2])) best = &v;
    if (!best) return -1;
    in.insert((*best)[0]), in.insert((*best)[1]), sum += (*best)[2];
  }
  return sum;
}

TEST(SpanningTree, CostsAreTheLeast) {
  each_generated("spanning_tree", [](const Problem& p) {
    const Roads roads = numbers_of(p.question, "(\\d+)-(\\d+): (\\d+)");
    EXPECT_EQ(p.answer, std::to_string(grown(roads, p.difficulty + 4)));
    EXPECT_EQ(plugin_environments().find("spanning_tree").verify(p, p.answer + "0").reward, 0);
    if (p.difficulty > 1) return;
    int64_t least = std::numeric_limits<int64_t>::max();
    for (size_t set = 0; set < size_t{1} << roads.size(); ++set) {
      Roads some;
      int64_t cost = 0;
      for (size_t i = 0; i < roads.size(); ++i)
        if (set >> i & 1) some.push_back(roads[i]), cost += roads[i][2];
      if (grown(some, p.difficulty + 4) >= 0) least = std::min(least, cost);
    }
    EXPECT_EQ(p.answer, std::to_string(least));
  });
}

TEST(SpanningTree, RefusesMutations) { check_mutations("spanning_tree", is_the_integer); }

TEST(SpanningTree, HasTheProperties) { check_environment("spanning_tree"); }

}  // namespace
}  // namespace quern::gym
