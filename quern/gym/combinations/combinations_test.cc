// Small counts are counted one by one.
#include <functional>
#include <set>

#include "quern/gym/answer_checks.h"
#include "quern/gym/check_environment.h"

namespace quern::gym {
namespace {

int64_t count_orders(int64_t people, int64_t places) {  // by filling the places in every way
  std::function<int64_t(int64_t, uint64_t)> filled = [&](int64_t left, uint64_t used) -> int64_t {
    if (left == 0) return 1;
    int64_t ways = 0;
    for (int64_t i = 0; i < people; ++i)
      if ((used >> i & 1) == 0) ways += filled(left - 1, used | uint64_t{1} << i);
    return ways;
  };
  return filled(places, 0);
}

int64_t count_choices(int64_t n, int64_t k) {
  int64_t ways = 0;
  for (uint64_t set = 0; set < uint64_t{1} << n; ++set) ways += __builtin_popcountll(set) == k ? 1 : 0;
  return ways;
}

int64_t count_ways(int64_t x, int64_t y) {
  return x == 0 || y == 0 ? 1 : count_ways(x - 1, y) + count_ways(x, y - 1);
}

TEST(Combinations, AreRight) {
  std::set<std::string> kinds;
  each_generated("combinations",
                 [&](const Problem& p) {
                   const std::string& q = p.question;
                   int64_t count = -1;
                   if (const auto v = numbers_of(q, "orders can (\\d+)"); !v.empty()) {
                     kinds.insert("orders"), count = count_orders(v[0][0], v[0][0]);
                   } else if (const auto w = numbers_of(q, "with (\\d+) of (\\d+) people"); !w.empty()) {
                     kinds.insert("places"), count = count_orders(w[0][1], w[0][0]);
                     EXPECT_EQ(numbers_of(q, "has (\\d+) places").at(0)[0], w[0][0]);
                   } else if (const auto c = numbers_of(q, "can (\\d+) of (\\d+) books"); !c.empty()) {
                     kinds.insert("choices"), count = count_choices(c[0][1], c[0][0]);
                   } else if (const auto g = numbers_of(q, "to \\((\\d+), (\\d+)\\)"); !g.empty()) {
                     kinds.insert("grid"), count = count_ways(g[0][0], g[0][1]);
                   } else if (const size_t quote = q.find('"'); quote != q.npos) {
                     std::string word = q.substr(quote + 1, q.rfind('"') - quote - 1);
                     std::sort(word.begin(), word.end());
                     kinds.insert("letters"), count = 0;
                     do ++count;
                     while (std::next_permutation(word.begin(), word.end()));
                   } else {
                     const auto m = numbers_of(q, "from 1 to (\\d+) are divisible by (\\d+) or by (\\d+)").at(0);
                     kinds.insert("multiples"), count = 0;
                     for (int64_t i = 1; i <= m[0]; ++i) count += i % m[1] == 0 || i % m[2] == 0 ? 1 : 0;
                   }
                   EXPECT_EQ(p.answer, std::to_string(count));
                 },
                 {0, 1, 2, 3, 5, 8});
  EXPECT_EQ(kinds.size(), 6u);
}

TEST(Combinations, RefusesMutations) {
  check_mutations("combinations", is_the_integer);
  const NamedEnvironment& e = plugin_environments().find("combinations");
  EXPECT_EQ(e.verify({.answer = "5040"}, "Answer: 5,040.").reward, 1);
  EXPECT_EQ(e.verify({.answer = "5040"}, "50,40").reason, "the answer is not one whole number");
  EXPECT_EQ(e.verify({.answer = "5040"}, "5041").reason, "expected '5040'");
}

TEST(Combinations, HasTheProperties) { check_environment("combinations"); }

}  // namespace
}  // namespace quern::gym
