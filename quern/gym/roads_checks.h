// Test helper: every try of a search over roads is checked against the roads of the question.
#pragma once
#include <map>
#include <set>

#include "quern/gym/problem_checks.h"
#include "quern/gym/roads.h"

namespace quern::gym {

// How many ways lead from one place to another, by the number of their roads.
inline std::map<int64_t, int64_t> ways_between(const std::multimap<int64_t, int64_t>& roads, int64_t from,
                                               int64_t to) {
  if (from == to) return {{0, 1}};
  std::map<int64_t, int64_t> out;
  auto [begin, end] = roads.equal_range(from);
  for (auto it = begin; it != end; ++it)
    for (const auto& [n, count] : ways_between(roads, it->second, to)) out[n + 1] += count;
  return out;
}

// Each try of a working is a way that the question's roads allow, counted right, and "Best" is the best of them.
inline void expect_true_search(const Problem& p, Best asked) {
  const bool longest = asked == Best::longest;
  std::multimap<int64_t, int64_t> roads;
  std::vector<int64_t> v = numbers_in(p.question);
  for (size_t i = 0; i + 2 < v.size(); i += 2) roads.emplace(v[i], v[i + 1]);
  const int64_t from = v[v.size() - 2], to = v.back();
  const auto all = ways_between(roads, from, to);
  const auto [best, how_many] = longest ? *all.rbegin() : *all.begin();
  EXPECT_EQ(how_many, 1) << p.question;
  EXPECT_EQ(p.answer, fmt::format("{} road{}", best, best == 1 ? "" : "s"));
  int64_t ways = 0;
  for (const auto& [n, count] : all) ways += count;
  EXPECT_EQ(ways, static_cast<int64_t>(p.search.tries.size()));

  auto length = [&](const std::string& way) -> int64_t {
    const std::vector<int64_t> at = numbers_in(way);
    EXPECT_EQ(at.front(), from);
    EXPECT_EQ(at.back(), to);
    for (size_t i = 0; i + 1 < at.size(); ++i) {
      auto [begin, end] = roads.equal_range(at[i]);
      EXPECT_TRUE(std::any_of(begin, end, [&](const auto& r) { return r.second == at[i + 1]; })) << way;
    }
    return static_cast<int64_t>(at.size()) - 1;
  };
  const size_t mark = p.steps.rfind("Best: ");
  ASSERT_NE(mark, p.steps.npos);
  std::set<std::string> tries;
  int64_t found = longest ? 0 : 100;
  std::string left = p.steps.substr(0, mark);
  for (size_t at; (at = left.find(". ")) != left.npos; left = left.substr(at + 2)) {
    const std::string t = left.substr(0, at), way = t.substr(0, t.find(':'));
    EXPECT_TRUE(tries.insert(way).second);
    EXPECT_EQ(numbers_in(t).back(), length(way)) << t;
    found = longest ? std::max(found, length(way)) : std::min(found, length(way));
  }
  EXPECT_EQ(left, "");
  EXPECT_EQ(tries.size(), kTrialsShown);
  const std::string last = p.steps.substr(mark + 6), way = last.substr(last.find(", ") + 2);
  EXPECT_TRUE(tries.contains(way.substr(0, way.size() - 1))) << last;
  EXPECT_EQ(numbers_in(last).front(), found);
  EXPECT_EQ(length(way), found);
  const std::string& said = p.found.empty() ? p.answer : p.found;
  EXPECT_EQ(numbers_in(said).front(), found);
}

}  // namespace quern::gym
