// The rows of the question are sorted again: first by name, then stably by the other column.
#include <gtest/gtest.h>

#include <set>

#include "quern/gym/verifier_checks.h"

namespace quern::gym {
namespace {

struct Row {
  std::string name;
  int number;
};

bool is_sorted(const Problem& p, const std::string& given) {
  static const std::regex row("(\\w+), (\\d+), (\\d+)[;.]");
  const std::string& q = p.question;
  const auto has = [&](const char* s) { return q.find(s) != q.npos; };
  std::vector<Row> rows;
  for (std::sregex_iterator i(q.begin(), q.end(), row), end; i != end; ++i)
    rows.push_back({(*i)[1], std::stoi((*i)[has("by age") ? 2 : 3])});
  std::ranges::sort(rows, {}, &Row::name);
  if (has("Z to A")) std::ranges::reverse(rows);
  std::ranges::stable_sort(rows, {}, [&](const Row& r) { return has("high to low") ? -r.number : r.number; });
  std::string names;
  std::set<std::string> different;
  for (const Row& r : rows) names += r.name + " ", different.insert(r.name);
  return different.size() == rows.size() && plain_answer_words(given) == plain_answer_words(names);
}

TEST(SortByKeys, IsRight) { check_verifier("sort_by_keys", is_sorted); }
TEST(SortByKeys, HasTheProperties) { check_environment("sort_by_keys"); }

TEST(SortByKeys, HasEqualRows) {
  const NamedEnvironment& e = plugin_environments().find("sort_by_keys");
  int equal = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const std::string steps = e.generate(seed, 5).steps;
    static const std::regex key("(\\d+):");
    std::multiset<int> keys;
    for (std::sregex_iterator i(steps.begin(), steps.end(), key), end; i != end; ++i) keys.insert(std::stoi((*i)[1]));
    equal += std::set<int>(keys.begin(), keys.end()).size() < keys.size() ? 1 : 0;
  }
  EXPECT_GT(equal, 50);
}

}  // namespace
}  // namespace quern::gym
