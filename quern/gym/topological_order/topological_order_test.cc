// Of few tasks every order is tried; the verifier accepts those that obey the rules of the question.
#include "quern/gym/answer_checks.h"
#include "quern/gym/check_environment.h"

namespace quern::gym {
namespace {

bool obeys(const Problem& p, const std::vector<int64_t>& order) {
  const int64_t n = numbers_of(p.question, "numbered 1 to (\\d+)").at(0)[0];
  std::vector<int64_t> sorted = order, all(static_cast<size_t>(n));
  std::sort(sorted.begin(), sorted.end());
  std::iota(all.begin(), all.end(), 1);
  if (sorted != all) return false;
  const auto place = [&](int64_t task) { return std::find(order.begin(), order.end(), task); };
  for (const auto& v : numbers_of(p.question, "(\\d+) after (\\d+)"))
    if (place(v[0]) < place(v[1])) return false;
  return true;
}

TEST(TopologicalOrder, AreRight) {
  each_generated("topological_order", [](const Problem& p) { EXPECT_TRUE(obeys(p, read_integers(p.answer))); });
}

TEST(TopologicalOrder, AcceptsEveryOrder) {
  const NamedEnvironment& e = plugin_environments().find("topological_order");
  int right = 0;
  for (int64_t d : {0, 1, 2})
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const Problem p = e.generate(seed, d);
      std::vector<int64_t> order(static_cast<size_t>(d) + 4);
      std::iota(order.begin(), order.end(), 1);
      do {
        const Verdict v = e.verify(p, fmt::format("Answer: {}", fmt::join(order, " -> ")));
        EXPECT_EQ(v.reward, obeys(p, order) ? 1 : 0) << p.question << v.reason;
        right += v.reward == 1 ? 1 : 0;
      } while (std::next_permutation(order.begin(), order.end()));
    }
  EXPECT_GT(right, 80);
}

TEST(TopologicalOrder, SaysWhatIsWrong) {
  const NamedEnvironment& e = plugin_environments().find("topological_order");
  const Problem p = e.generate(1, 0);
  const auto rule = numbers_of(p.question, "(\\d+) after (\\d+)").at(0);
  std::vector<int64_t> order = read_integers(p.answer);
  std::reverse(order.begin(), order.end());
  EXPECT_EQ(e.verify(p, fmt::format("{}", fmt::join(order, ", "))).reason,
            fmt::format("{} must come after {}", rule[0], rule[1]));
  EXPECT_EQ(e.verify(p, "1, 2, 3, 3").reason, "task 3 is there twice");
  EXPECT_EQ(e.verify(p, "1, 2, 3, 5").reason, "there is no task 5");
  EXPECT_EQ(e.verify(p, "1, 2, 3").reason, "the answer is not a list of 4 tasks");
}

TEST(TopologicalOrder, RefusesMutations) {
  check_mutations("topological_order",
                  [](const Problem& p, const std::string& a) { return obeys(p, read_integers(a)); });
}

TEST(TopologicalOrder, HasTheProperties) { check_environment("topological_order", {.several_right = true}); }

}  // namespace
}  // namespace quern::gym
