// The squares are painted one by one.
#include <set>

#include "quern/gym/answer_checks.h"
#include "quern/gym/check_environment.h"

namespace quern::gym {
namespace {

TEST(GridArea, IsRight) {
  each_generated(
      "grid_area",
      [](const Problem& p) {
        std::set<std::pair<int64_t, int64_t>> painted;
        const auto all = numbers_of(p.question, "columns (\\d+) to (\\d+) of rows (\\d+) to (\\d+)");
        for (const auto& v : all)
          for (int64_t x = v[0]; x <= v[1]; ++x)
            for (int64_t y = v[2]; y <= v[3]; ++y) painted.emplace(x, y);
        EXPECT_EQ(std::ssize(all), p.difficulty / 2 + 2);
        EXPECT_EQ(p.answer, std::to_string(painted.size()));
        EXPECT_EQ(plugin_environments().find("grid_area").verify(p, std::to_string(painted.size() + 1)).reward, 0);
        for (const auto& v : numbers_of(p.steps, "; (\\d+) \\+ (\\d+) = (\\d+)\\.")) EXPECT_EQ(v[0] + v[1], v[2]);
      },
      {0, 1, 2, 3, 5, 8, 12, 40});
}

TEST(GridArea, RefusesMutations) { check_mutations("grid_area", is_the_integer); }

TEST(GridArea, HasTheProperties) { check_environment("grid_area"); }

}  // namespace
}  // namespace quern::gym
