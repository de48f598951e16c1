// Placements are checked pair by pair; on small boards every completion is found by search and accepted.
#include <gtest/gtest.h>

#include <map>

#include "quern/gym/verifier_checks.h"

namespace quern::gym {
namespace {

std::map<int, int> placed_in(const std::string& question) {
  static const std::regex queen("column (\\d+) row (\\d+)");
  std::map<int, int> out;
  for (std::sregex_iterator i(question.begin(), question.end(), queen), end; i != end; ++i)
    out[std::stoi((*i)[1])] = std::stoi((*i)[2]);
  return out;
}

int side(const std::string& question) { return std::stoi(question.substr(std::string("Place ").size())); }

bool attack(int a, int b, const std::vector<int>& rows) {
  const auto i = static_cast<size_t>(a), j = static_cast<size_t>(b);
  return rows[i] == rows[j] || std::abs(rows[i] - rows[j]) == std::abs(a - b);
}

bool completes(const Problem& p, const std::string& given) {
  const int n = side(p.question);
  std::vector<int> rows;
  for (const std::string& w : plain_answer_words(given)) {
    if (w.find_first_not_of("0123456789") != w.npos || w.size() > 6) return false;
    rows.push_back(std::stoi(w));
  }
  if (static_cast<int>(rows.size()) != n) return false;
  for (auto [column, row] : placed_in(p.question))
    if (rows[static_cast<size_t>(column - 1)] != row) return false;
  for (int a = 0; a < n; ++a) {
    if (rows[static_cast<size_t>(a)] < 1 || rows[static_cast<size_t>(a)] > n) return false;
    for (int b = 0; b < a; ++b)
      if (attack(a, b, rows)) return false;
  }
  return true;
}

void completions(const std::map<int, int>& placed, int n, std::vector<int>& rows,
                 std::vector<std::vector<int>>& out) {
  const int column = static_cast<int>(rows.size());
  if (column == n) return out.push_back(rows);
  for (int row = 1; row <= n; ++row) {
    if (placed.contains(column + 1) && placed.at(column + 1) != row) continue;
    rows.push_back(row);
    bool free = true;
    for (int b = 0; b < column; ++b) free = free && !attack(column, b, rows);
    if (free) completions(placed, n, rows, out);
    rows.pop_back();
  }
}

TEST(Queens, AreRight) { check_verifier("queens", completes); }
TEST(Queens, HasTheProperties) { check_environment("queens", {.wrong = 1}); }  // there may be several completions

TEST(Queens, AcceptsEveryCompletion) {
  const NamedEnvironment& e = plugin_environments().find("queens");
  size_t several = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Problem p = e.generate(seed, static_cast<int64_t>(seed % 3));
    std::vector<std::vector<int>> all;
    std::vector<int> rows;
    completions(placed_in(p.question), side(p.question), rows, all);
    ASSERT_FALSE(all.empty());
    several += all.size() > 1 ? 1 : 0;
    for (const auto& c : all) EXPECT_EQ(e.verify(p, fmt::format("{}", fmt::join(c, " "))).reward, 1);
  }
  EXPECT_GT(several, 0u);
}

}  // namespace
}  // namespace quern::gym
