// Every answer is worked out again from the text of the question.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "quern/gym/answer_checks.h"
#include "quern/gym/check_environment.h"
#include "quern/gym/problem_checks.h"

namespace quern::gym {
namespace {

std::vector<std::string> words_in(std::string s) {
  std::vector<std::string> v;
  for (size_t at; (at = s.find(", ")) != s.npos; s = s.substr(at + 2)) v.push_back(s.substr(0, at));
  v.push_back(s);
  return v;
}

TEST(Lists, AreRight) {
  each_problem("lists", [](const Problem& p) {
    std::vector<int64_t> v = numbers_in(p.question);
    const std::string& q = p.question;
    auto has = [&](const char* s) { return q.find(s) != q.npos; };
    if (has("largest")) {
      EXPECT_EQ(p.answer, std::to_string(*std::max_element(v.begin(), v.end())));
    } else if (has("smallest")) {
      EXPECT_EQ(p.answer, std::to_string(*std::min_element(v.begin(), v.end())));
    } else if (has("small to large")) {
      std::sort(v.begin(), v.end());
      EXPECT_EQ(p.answer, fmt::format("{}", fmt::join(v, ", ")));
    } else if (has("reverse") || has("alphabet")) {
      std::vector<std::string> w = words_in(q.substr(q.find(": ") + 2));
      has("reverse") ? std::reverse(w.begin(), w.end()) : std::sort(w.begin(), w.end());
      EXPECT_EQ(p.answer, fmt::format("{}", fmt::join(w, ", ")));
    } else if (has("Which word")) {
      const std::map<std::string, size_t> places = {
          {"first", 0}, {"second", 1}, {"third", 2}, {"fourth", 3}, {"fifth", 4}};
      const std::string place = q.substr(14, q.find(' ', 14) - 14);
      const size_t begin = q.find("list ") + 5;
      EXPECT_EQ(p.answer, words_in(q.substr(begin, q.size() - 1 - begin))[places.at(place)]);
    } else {
      int64_t sum = 0;
      for (int64_t x : v) sum += (x % 2 == 0) == has("even") ? x : 0;
      EXPECT_EQ(p.answer, std::to_string(sum));
      expect_true_steps(p.steps);
    }
  });
}

TEST(Lists, RefusesMutations) { check_mutations("lists", is_the_text); }
TEST(Lists, HasTheProperties) { check_environment("lists"); }

}  // namespace
}  // namespace quern::gym
