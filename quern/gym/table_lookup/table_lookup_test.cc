// The rows are read out of the question and asked again.
#include <gtest/gtest.h>

#include <numeric>

#include "quern/gym/verifier_checks.h"

namespace quern::gym {
namespace {

int64_t asked(const std::string& q) {
  static const std::regex row("(\\w+), (\\w+), (\\d+)[;.]"), color("the (\\w+) things\\?|many (\\w+) things"),
      above("price above (\\d+)");
  std::smatch m, limit;
  if (!std::regex_search(q, m, color)) return -1;
  const std::string wanted = m[1].matched ? m[1] : m[2];
  std::vector<int64_t> prices;
  for (std::sregex_iterator i(q.begin(), q.end(), row), end; i != end; ++i)
    if ((*i)[2] == wanted) prices.push_back(std::stoll((*i)[3]));
  if (std::regex_search(q, limit, above))
    return std::ranges::count_if(prices, [&](int64_t x) { return x > std::stoll(limit[1]); });
  std::ranges::sort(prices);
  if (q.find("sum of") != q.npos) return std::accumulate(prices.begin(), prices.end(), int64_t{0});
  return q.find("highest") != q.npos ? prices.back() : prices.front();
}

bool is_right(const Problem& p, const std::string& given) {
  return plain_answer_words(given) == std::vector<std::string>{std::to_string(asked(p.question))} &&
         given.find_first_of(" ,;") == given.npos;
}

TEST(TableLookup, IsRight) { check_verifier("table_lookup", is_right); }
TEST(TableLookup, HasTheProperties) { check_environment("table_lookup"); }

}  // namespace
}  // namespace quern::gym
