// Test helper: the properties every environment owes, over many seeds. Include it in NAME_test.cc.
#pragma once
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "quern/base/error.h"
#include "quern/gym/environment_registry.h"

namespace quern::gym {

struct EnvironmentCheck {
  uint64_t seeds = 200;  // at each difficulty
  std::vector<int64_t> difficulties = {0, 1, 2, 3, 4, 5, 8, 13};
  double wrong = 0;  // the most that a wrong reply may earn, where it may be partly right
};

// Replies that are wrong whatever was asked, if `p` has one right answer: nothing, the question, another problem's
// answer, the answer with more in front or behind, several answers at once.
inline std::vector<std::string> wrong_replies(const Problem& p, const Problem& other) {
  std::vector<std::string> out = {"",
                                  "Answer:",
                                  p.question,
                                  "Answer: " + p.question,
                                  "Answer: .",
                                  "Answer: nan",
                                  "Answer: " + p.answer + " 3",
                                  "Answer: 3 " + p.answer,
                                  "Answer: " + p.answer + "\nAnswer: nothing",
                                  std::string(100000, 'a'),
                                  "Answer: \xff\xfe\n</think>"};
  if (final_answer(other.answer) != final_answer(p.answer)) {
    out.push_back("Answer: " + other.answer);
    out.push_back(fmt::format("Answer: {}, {}", p.answer, other.answer));
    out.push_back(fmt::format("<think>\nAnswer: {}\n</think>\n\nAnswer: {}", p.answer, other.answer));
  }
  return out;
}

inline void check_problem(const NamedEnvironment& e, const Problem& p, const Problem& other, double wrong) {
  SCOPED_TRACE(plain_form(p));
  EXPECT_FALSE(p.question.empty());
  EXPECT_FALSE(p.key.empty());
  for (const char* marker : {"Answer:", "<think>", "</think>"}) EXPECT_EQ(p.question.find(marker), std::string::npos);
  for (const std::string& reply : wrong_replies(p, other)) {
    const Verdict v = e.verify(p, reply);
    EXPECT_LE(v.reward, wrong) << reply.substr(0, 200);
    EXPECT_GE(v.reward, 0);
    EXPECT_FALSE(v.reason.empty());
  }
  if (p.answer.empty()) return;
  EXPECT_EQ(e.verify(p, p.answer).reward, 1);
  EXPECT_EQ(e.verify(p, plain_form(p)).reward, 1);
  EXPECT_EQ(e.verify(p, assistant_content(p)).reward, 1);
}

// Deterministic, answered right by its own solution, wrong by wrong replies, no marker of an answer in the question;
// problems differ, and get longer workings with difficulty until they saturate where the environment says.
inline void check_environment(const std::string& name, const EnvironmentCheck& c = {}) {
  const NamedEnvironment& e = plugin_environments().find(name);
  const std::optional<int64_t> top = e.environment->saturates_at();
  for (int64_t d : c.difficulties) {
    std::set<std::string> questions;
    for (uint64_t seed = 0; seed < c.seeds; ++seed) {
      const Problem p = e.generate(seed, d), again = e.generate(seed, d);
      EXPECT_EQ(plain_form(p), plain_form(again));
      EXPECT_EQ(p.facts, again.facts);
      EXPECT_EQ(p.kind, name);
      EXPECT_EQ(p.difficulty, d);
      questions.insert(p.question);
      check_problem(e, p, e.generate(seed + 1, d), c.wrong);
      if (testing::Test::HasFailure()) return;
    }
    EXPECT_GT(questions.size(), std::min<size_t>(c.seeds, 10) / 2) << name << " at difficulty " << d;
  }
  EXPECT_THROW(e.generate(0, -1), Error);
  const auto length = [&](int64_t d) {
    size_t sum = 0;
    for (uint64_t seed = 0; seed < 50; ++seed) {
      const Problem p = e.generate(seed, d);
      sum += p.question.size() + p.steps.size() + p.answer.size();
    }
    return sum;
  };
  const int64_t far = top.value_or(40);
  EXPECT_LT(length(0), length(far / 2));
  EXPECT_LT(length(far / 2), length(far));
  if (!top) return;
  for (uint64_t seed = 0; seed < 20; ++seed) {  // beyond, the same random numbers give the same problem
    Rng a(seed), b(seed);
    EXPECT_EQ(plain_form(e.environment->generate(a, *top)), plain_form(e.environment->generate(b, *top + 17)));
  }
}

}  // namespace quern::gym
