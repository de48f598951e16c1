// Every throw of the dice is counted.
#include "quern/gym/answer_checks.h"
#include "quern/gym/check_environment.h"

namespace quern::gym {
namespace {

TEST(Dice, AreRight) {
  const NamedEnvironment& e = plugin_environments().find("dice");
  each_generated(
      "dice",
      [&](const Problem& p) {
        const auto dice = numbers_of(p.question, "^(\\d+) fair"),
                   sum = numbers_of(p.question, "(?:exactly|at least) (\\d+)");
        const int64_t n = dice.empty() ? 1 : dice[0][0], sides = numbers_of(p.question, "with (\\d+) sides").at(0)[0];
        const bool least = p.question.find("at least") != std::string::npos;
        ASSERT_EQ(n, p.difficulty / 2 + 1);
        std::vector<int64_t> faces(static_cast<size_t>(n), 1);
        int64_t good = 0, all = 0;
        for (bool more = true; more;) {
          const int64_t s = std::accumulate(faces.begin(), faces.end(), int64_t{0});
          ++all, good += s == sum.at(0)[0] || (least && s > sum[0][0]) ? 1 : 0;
          size_t i = 0;
          while (i < faces.size() && ++faces[i] > sides) faces[i++] = 1;
          more = i < faces.size();
        }
        const int64_t common = std::gcd(good, all);
        EXPECT_EQ(p.answer, fmt::format("{}/{}", good / common, all / common));
        EXPECT_EQ(e.verify(p, fmt::format("{}/{}", good, all)).reward, 1);
        EXPECT_EQ(e.verify(p, fmt::format("{}/{}", good + 1, all)).reward, 0);
        const bool exact = 1000000 * good % all == 0;
        EXPECT_EQ(e.verify(p, fmt::format("{:.6f}", static_cast<double>(good) / static_cast<double>(all))).reward,
                  exact ? 1 : 0);
      },
      {0, 1, 2, 3, 5});
}

TEST(Dice, RefusesMutations) {
  check_mutations("dice", [](const Problem& p, const std::string& a) { return same_ratio(a, p.answer); });
}

TEST(Dice, HasTheProperties) { check_environment("dice"); }

}  // namespace
}  // namespace quern::gym
