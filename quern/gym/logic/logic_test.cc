// The order of the people is worked out again from what is said of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "quern/gym/answer_checks.h"
#include "quern/gym/check_environment.h"
#include "quern/gym/problem_checks.h"

namespace quern::gym {
namespace {

using Above = std::vector<std::pair<std::string, std::string>>;

// The order that agrees with every comparison: each time the one of whom nobody is more. Empty: none, or several.
std::vector<std::string> order_of(std::set<std::string> who, const Above& above) {
  std::vector<std::string> order;
  while (!who.empty()) {
    std::vector<std::string> free;
    for (const std::string& w : who)
      if (std::none_of(above.begin(), above.end(), [&](auto& a) { return a.second == w && who.contains(a.first); }))
        free.push_back(w);
    if (free.size() != 1) return {};
    order.push_back(free[0]), who.erase(free[0]);
  }
  return order;
}

TEST(Logic, HasOneSolution) {
  static const std::regex claim("(\\w+(?: \\d+)?) is (\\w+) than (\\w+(?: \\d+)?)\\.");
  const std::set<std::string> more = {"taller", "older", "faster", "stronger"};
  const std::set<std::string> most = {"tallest", "oldest", "fastest", "strongest"};
  each_problem("logic", [&](const Problem& p) {
    Above above;
    std::set<std::string> who;
    for (std::sregex_iterator i(p.question.begin(), p.question.end(), claim), end; i != end; ++i) {
      const bool up = more.count((*i)[2]) > 0;
      above.emplace_back((*i)[up ? 1 : 3], (*i)[up ? 3 : 1]);
      who.insert((*i)[1]), who.insert((*i)[3]);
    }
    ASSERT_EQ(who.size(), static_cast<size_t>(p.difficulty) + 3);
    const std::vector<std::string> found = order_of(who, above);
    ASSERT_EQ(found.size(), who.size());
    const std::string last = p.question.substr(p.question.rfind(". ") + 2);
    if (last.starts_with("Who is the ")) {
      EXPECT_EQ(p.answer, most.count(last.substr(11, last.size() - 12)) ? found.front() : found.back());
    } else {
      const std::vector<std::string> places = {"first", "second", "third", "fourth", "fifth", "sixth", "seventh"};
      const std::string place = last.substr(last.find("who is ") + 7);  // "third?" or "number 9?"
      const auto named = std::find(places.begin(), places.end(), place.substr(0, place.size() - 1));
      const auto at = named != places.end() ? named - places.begin() : numbers_in(place).at(0) - 1;
      EXPECT_EQ(p.answer, found.at(static_cast<size_t>(at)));
    }
  });
}

TEST(Logic, RefusesMutations) { check_mutations("logic", is_the_text); }
TEST(Logic, HasTheProperties) { check_environment("logic"); }

}  // namespace
}  // namespace quern::gym
