// Test helper: the properties every environment owes, over many seeds. Include it in NAME_test.cc.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/gym/environment_registry.h"

namespace quern::gym {

struct EnvironmentCheck {
  uint64_t seeds = 200;  // at each difficulty
  std::vector<int64_t> difficulties = {0, 1, 2, 3, 4, 5, 8, 13};
  double wrong = 0;            // the most that a wrong reply may earn, where it may be partly right
  bool several_right = false;  // a problem may have several right answers, another problem's among them
};

// Replies that are wrong whatever was asked: nothing, the question, the answer with more in front or behind, several
// answers at once; if `p` has one right answer, another problem's answer.
inline std::vector<std::string> wrong_replies(const Problem& p, const Problem& other, const EnvironmentCheck& c) {
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
    out.push_back(fmt::format("Answer: {}, {}", p.answer, other.answer));
    if (c.several_right) return out;
    out.push_back("Answer: " + other.answer);
    out.push_back(fmt::format("<think>\nAnswer: {}\n</think>\n\nAnswer: {}", p.answer, other.answer));
  }
  return out;
}

inline void check_problem(const NamedEnvironment& e, const Problem& p, const Problem& other,
                          const EnvironmentCheck& c) {
  SCOPED_TRACE(plain_form(p));
  EXPECT_FALSE(p.question.empty());
  EXPECT_FALSE(p.key.empty());
  for (const char* marker : {"Answer:", "<think>", "</think>"}) EXPECT_EQ(p.question.find(marker), std::string::npos);
  for (const std::string& reply : wrong_replies(p, other, c)) {
    const Verdict v = e.verify(p, reply);
    EXPECT_LE(v.reward, c.wrong) << reply.substr(0, 200);
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
      check_problem(e, p, e.generate(seed + 1, d), c);
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

// Calls f with the problems of 200 seeds at each of these difficulties, until one fails.
template <class F>
void each_generated(const std::string& name, F&& f,
                    const std::vector<int64_t>& difficulties = {0, 1, 2, 3, 5, 8, 12}) {
  for (int64_t d : difficulties)
    for (uint64_t seed = 0; seed < 200 && !testing::Test::HasFailure(); ++seed) {
      const Problem p = plugin_environments().find(name).generate(seed, d);
      SCOPED_TRACE(plain_form(p));
      f(p);
    }
}

// An answer after one to three changes: a character dropped, put in, replaced or moved, the end cut off, two words in
// each other's place. It may still be right, or be right again.
inline std::string mutated_answer(const std::string& answer, Rng& r) {
  static constexpr std::string_view kCharacters = "01234567899 ,;.-+*/=^()xab";
  std::string s = answer;
  for (uint64_t changes = 1 + r.below(3); changes > 0; --changes) {
    const size_t at = r.below(s.size() + 1);
    const char c = kCharacters[r.below(kCharacters.size())];
    switch (r.below(6)) {
      case 0:
        s.erase(at, 1);
        break;
      case 1:
        s.insert(at, 1, c);
        break;
      case 2:
        s.replace(at, 1, 1, c);
        break;
      case 3:
        if (at + 1 < s.size()) std::swap(s[at], s[at + 1]);
        break;
      case 4:
        s.erase(std::max(at, s.size() / 2));
        break;
      default:
        std::vector<std::string> words(1);
        for (char k : s) k == ' ' ? words.emplace_back() : words.back() += k;
        std::swap(words[r.below(words.size())], words[r.below(words.size())]);
        s = fmt::format("{}", fmt::join(words, " "));
    }
  }
  return s;
}

// Of mutated right answers the verifier accepts those, and only those, that right(problem, final answer) does: another
// reading of the answer, written for the test.
template <class Right>
void check_mutations(const std::string& name, Right&& right, int count = 20000) {
  const NamedEnvironment& e = plugin_environments().find(name);
  Rng r(7);
  int accepted = 0;
  Problem p;
  for (int i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    if (i % 20 == 0) p = e.generate(static_cast<uint64_t>(i), i / 20 % 9);
    const std::string text = "Answer: " + mutated_answer(p.answer, r);
    const Verdict v = e.verify(p, text);
    EXPECT_EQ(v.reward == 1, right(p, final_answer(text))) << plain_form(p) << text << "\n" << v.reason;
    accepted += v.reward == 1 ? 1 : 0;
  }
  EXPECT_GT(accepted, 0);  // such as a blank more
  EXPECT_LT(accepted, count / 2);
}

}  // namespace quern::gym
