// Both tables are read out of the question and joined again.
#include <gtest/gtest.h>

#include <map>

#include "quern/gym/problem_checks.h"
#include "quern/gym/verifier_checks.h"

namespace quern::gym {
namespace {

int64_t cost(const std::string& q) {
  const size_t second = q.find("A table of person");
  const std::string prices = q.substr(0, second), orders = q.substr(second);
  static const std::regex price("(\\w+), (\\d+)[;.]"), order("(\\w+), (\\w+), (\\d+)[;.]"), who("must (\\w+) pay");
  std::map<std::string, int64_t> of;
  for (std::sregex_iterator i(prices.begin(), prices.end(), price), end; i != end; ++i)
    of[(*i)[1]] = std::stoll((*i)[2]);
  std::smatch m;
  if (!std::regex_search(q, m, who)) return -1;
  int64_t sum = 0;
  for (std::sregex_iterator i(orders.begin(), orders.end(), order), end; i != end; ++i)
    if ((*i)[1] == m[1]) sum += of.at((*i)[2]) * std::stoll((*i)[3]);
  return sum;
}

bool is_cost(const Problem& p, const std::string& given) {
  expect_true_steps(p.steps);
  return plain_answer_words(given) == std::vector<std::string>{std::to_string(cost(p.question))} &&
         given.find_first_of(" ,;") == given.npos;
}

TEST(JoinTables, IsRight) {
  check_verifier("join_tables", is_cost, {.seeds = 200, .difficulties = {0, 1, 2, 5, 13}});
}
TEST(JoinTables, HasTheProperties) { check_environment("join_tables"); }

}  // namespace
}  // namespace quern::gym
