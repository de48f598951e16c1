// Every choice of few items is tried: the largest value earns 1, others their share of it.
#include <set>

#include "quern/gym/answer_checks.h"
#include "quern/gym/check_environment.h"

namespace quern::gym {
namespace {

struct Task {
  int64_t capacity = 0;
  std::vector<std::vector<int64_t>> items = {};  // weight, value
};

Task task_of(const Problem& p) {
  return {numbers_of(p.question, "weight of (\\d+) at most").at(0)[0],
          numbers_of(p.question, "item \\d+ \\(weight (\\d+), value (\\d+)\\)")};
}

// Of a choice that can be carried; -1: it cannot, or names an item twice or none.
int64_t value_of(const Task& t, const std::vector<int64_t>& chosen) {
  int64_t weight = 0, value = 0;
  std::set<int64_t> seen;
  for (int64_t i : chosen) {
    if (i < 1 || i > std::ssize(t.items) || !seen.insert(i).second) return -1;
    weight += t.items[static_cast<size_t>(i) - 1][0], value += t.items[static_cast<size_t>(i) - 1][1];
  }
  return weight > t.capacity ? -1 : value;
}

std::vector<int64_t> choice(size_t set) {
  std::vector<int64_t> out;
  for (int64_t i = 0; set >> i; ++i)
    if (set >> i & 1) out.push_back(i + 1);
  return out;
}

TEST(Knapsack, ValuesAreTheLargest) {
  const NamedEnvironment& e = plugin_environments().find("knapsack");
  each_generated("knapsack",
                 [&](const Problem& p) {
                   const Task t = task_of(p);
                   ASSERT_EQ(std::ssize(t.items), p.difficulty + 3);
                   int64_t best = 0;
                   for (size_t set = 1; set < size_t{1} << t.items.size(); ++set)
                     best = std::max(best, value_of(t, choice(set)));
                   EXPECT_EQ(value_of(t, read_integers(p.answer)), best);
                   if (p.difficulty > 3) return;
                   for (size_t set = 1; set < size_t{1} << t.items.size(); ++set) {
                     const int64_t value = value_of(t, choice(set));
                     const double reward = value < 0 ? 0 : static_cast<double>(value) / static_cast<double>(best);
                     EXPECT_EQ(e.verify(p, fmt::format("Answer: {}.", fmt::join(choice(set), " "))).reward, reward);
                   }
                 },
                 {0, 1, 2, 3, 5, 8});
}

TEST(Knapsack, SaysWhatIsWrong) {
  const NamedEnvironment& e = plugin_environments().find("knapsack");
  const Problem p = e.generate(1, 9);
  EXPECT_EQ(e.verify(p, "13").reason, "there is no item 13");
  EXPECT_EQ(e.verify(p, "2, 2").reason, "item 2 is there twice");
  EXPECT_NE(e.verify(p, "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12").reason.find(", more than "), std::string::npos);
  EXPECT_EQ(e.verify(p, "all").reason, "the answer is not a list of items");
}

TEST(Knapsack, RefusesMutations) {
  check_mutations("knapsack", [](const Problem& p, const std::string& a) {
    const Task t = task_of(p);
    return !read_integers(a).empty() && value_of(t, read_integers(a)) == value_of(t, read_integers(p.answer));
  });
}

TEST(Knapsack, HasTheProperties) { check_environment("knapsack", {.wrong = 0.9999, .several_right = true}); }

}  // namespace
}  // namespace quern::gym
