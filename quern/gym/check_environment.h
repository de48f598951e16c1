// Test helper: the properties every environment owes, over many seeds. Include it in NAME_test.cc.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/properties.h"

namespace quern::gym {

inline void check_environment(const std::string& name, const EnvironmentCheck& c = {}) {
  const PropertyReport r = check_properties(plugin_environments().find(name), c);
  EXPECT_EQ(r.problems, static_cast<int64_t>(c.seeds * c.difficulties.size()));
  for (const PropertyViolation& v : r.first)
    ADD_FAILURE() << name << ", difficulty " << v.difficulty << ", seed " << v.seed << ": " << v.property << "\n"
                  << v.detail;
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
