// The stories are acted out.
#include <gtest/gtest.h>

#include <map>

#include "quern/gym/answer_checks.h"
#include "quern/gym/check_environment.h"
#include "quern/gym/problem_checks.h"

namespace quern::gym {
namespace {

// The story is acted out.
TEST(Stories, EndAsTold) {
  static const std::regex sentence("(\\w+) (has|gives|finds|puts|takes) ([^.]*)\\. ");
  each_problem("stories", [&](const Problem& p) {
    std::map<std::string, int64_t> have;
    std::map<std::string, std::vector<std::string>> places;
    for (std::sregex_iterator i(p.question.begin(), p.question.end(), sentence), end; i != end; ++i) {
      const std::string who = (*i)[1], verb = (*i)[2], rest = (*i)[3];
      std::smatch m;
      if (std::regex_match(rest, m, std::regex("the (\\w+) (?:in|to) the (\\w+)"))) {
        places[m[1]].push_back(m[2]);
        continue;
      }
      const int64_t n = numbers_in(rest).at(0);
      have[who] += verb == "gives" ? -n : n;
      if (verb == "gives") have[rest.substr(rest.rfind(' ') + 1)] += n;
      for (const auto& [name, count] : have) EXPECT_GE(count, 0);
    }
    std::smatch m;
    if (std::regex_search(p.question, m, std::regex("How many (\\w+) does (\\w+) have now"))) {
      EXPECT_EQ(p.answer, fmt::format("{} {}", have.at(m[2]), m[1].str()));
      expect_true_steps(p.steps);
    } else if (std::regex_search(p.question, m, std::regex("Where is the (\\w+) now"))) {
      EXPECT_EQ(p.answer, "in the " + places.at(m[1]).back());
    } else {
      ASSERT_TRUE(std::regex_search(p.question, m, std::regex("Where was the (\\w+) before")));
      const auto& way = places.at(m[1]);
      ASSERT_GE(way.size(), 2u);
      EXPECT_EQ(p.answer, "in the " + way[way.size() - 2]);
    }
  });
}

TEST(Stories, RefusesMutations) { check_mutations("stories", is_the_text); }
TEST(Stories, HasTheProperties) { check_environment("stories"); }

}  // namespace
}  // namespace quern::gym
