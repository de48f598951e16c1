// Groups are found by giving both ends of every road the smaller mark until nothing changes.
#include <map>

#include "quern/gym/answer_checks.h"
#include "quern/gym/check_environment.h"

namespace quern::gym {
namespace {

std::vector<int64_t> sizes_of(const Problem& p) {
  const int64_t n = numbers_of(p.question, "numbered 1 to (\\d+)").at(0)[0];
  std::vector<int64_t> mark(static_cast<size_t>(n) + 1);
  std::iota(mark.begin(), mark.end(), 0);
  const auto roads = numbers_of(p.question, "(\\d+)-(\\d+)");
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& v : roads) {
      int64_t &a = mark[static_cast<size_t>(v[0])], &b = mark[static_cast<size_t>(v[1])];
      changed = changed || a != b;
      a = b = std::min(a, b);
    }
  }
  std::map<int64_t, int64_t> counts;
  for (int64_t i = 1; i <= n; ++i) ++counts[mark[static_cast<size_t>(i)]];
  std::vector<int64_t> sizes;
  for (const auto& [m, count] : counts) sizes.push_back(count);
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

TEST(Components, AreRight) {
  const NamedEnvironment& e = plugin_environments().find("components");
  each_generated("components", [&](const Problem& p) {
    const std::vector<int64_t> sizes = sizes_of(p);
    if (p.question.find("How many groups") != std::string::npos) {
      EXPECT_EQ(p.answer, std::to_string(sizes.size()));
      EXPECT_EQ(e.verify(p, std::to_string(sizes.size() + 1)).reward, 0);
    } else {
      EXPECT_EQ(p.answer, fmt::format("{}", fmt::join(sizes, ", ")));
      EXPECT_EQ(e.verify(p, fmt::format("Answer: [{}]", fmt::join(sizes, " "))).reward, 1);
      const bool same = sizes.front() == sizes.back();
      EXPECT_EQ(e.verify(p, fmt::format("{}", fmt::join(sizes.rbegin(), sizes.rend(), ", "))).reward == 1,
                same || std::equal(sizes.begin(), sizes.end(), sizes.rbegin()));
    }
  });
}

TEST(Components, RefusesMutations) {
  check_mutations("components",
                  [](const Problem& p, const std::string& a) { return read_integers(a) == read_integers(p.answer); });
}

TEST(Components, HasTheProperties) { check_environment("components"); }

}  // namespace
}  // namespace quern::gym
