// Splits: what decides the side, their sizes, and what cannot be split.
#include "quern/gym/splits.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "quern/base/error.h"
#include "quern/base/test_message.h"
#include "quern/gym/curriculum_problems.h"

namespace quern::gym {
namespace {

constexpr ProblemSplit kSplits[] = {ProblemSplit::train, ProblemSplit::dev, ProblemSplit::test};

TEST(Splits, HaveNamesAndSizes) {
  std::map<ProblemSplit, int> counts;
  for (int i = 0; i < 100000; ++i) ++counts[split_of("sums", std::to_string(i))];
  EXPECT_NEAR(counts[ProblemSplit::test], 10000, 400);
  EXPECT_NEAR(counts[ProblemSplit::dev], 5000, 300);
  for (ProblemSplit s : kSplits) EXPECT_EQ(parse_split(split_name(s)), s);
  EXPECT_EQ(message_of([] { parse_split("tets"); }),
            "split 'tets': expected train, dev or test; did you mean 'test'?");
  EXPECT_NE(message_of([] { parse_split("heldout"); }), "");
}

// One key is one problem, but of one environment.
TEST(Splits, AreOfEnvironmentAndKey) {
  int same = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::string key = std::to_string(i);
    same += split_of("a", key) == split_of("b", key);
  }
  EXPECT_GT(same, 600);
  EXPECT_LT(same, 950);
}

TEST(Splits, GiveProblemsOfTheirSide) {
  for (const char* name : {"arithmetic", "sudoku", "change"}) {
    const EnvironmentAt at{&plugin_environments().find(name), name == std::string("change") ? 300 : 4};
    std::map<std::string, ProblemSplit> sides;
    for (ProblemSplit split : kSplits)
      for (uint64_t i = 0; i < 40 && (name != std::string("change") || find_split_problem(at, {split, 5}, 0)); ++i) {
        const SeededProblem s = split_problem(at, {split, 5}, i);
        EXPECT_EQ(split_of(name, s.problem.key), split);
        EXPECT_EQ(at.environment->generate(s.seed, at.difficulty).question, s.problem.question);
        EXPECT_LT(s.seed, uint64_t{1} << 53);
        EXPECT_EQ(split_problem(at, {split, 5}, i).seed, s.seed);
        const auto [known, fresh] = sides.emplace(s.problem.key, split);
        EXPECT_EQ(known->second, split) << s.problem.question;
      }
    EXPECT_GT(sides.size(), 5u) << name;
  }
}

TEST(Splits, DifferByIndexAndSeed) {
  const EnvironmentAt at{&plugin_environments().find("polynomials"), 6};
  std::set<std::string> questions;
  for (uint64_t seed : {0, 1, 2})
    for (uint64_t i = 0; i < 50; ++i)
      questions.insert(split_problem(at, {ProblemSplit::dev, seed}, i).problem.question);
  EXPECT_EQ(questions.size(), 150u);
}

struct Two : Environment {  // problems in all
  Problem generate(Rng& r, int64_t) const override {
    const std::string n = std::to_string(r.below(2));
    return {.question = n + "?", .answer = n, .key = n};
  }
};

TEST(Splits, NeedEnoughProblems) {
  EnvironmentRegistry r;
  r.add("two", "too few", std::make_unique<Two>());
  const EnvironmentAt at{&r.find("two"), 3};
  int missing = 0;
  for (ProblemSplit split : kSplits) {
    if (find_split_problem(at, {split, 0}, 0)) continue;
    ++missing;
    EXPECT_EQ(message_of([&] {
                split_problem(at, {split, 0}, 0);
              }),
              fmt::format("environment 'two' at difficulty 3: none of 1000 problems is on the {} side: there are too "
                          "few different problems",
                          split_name(split)));
  }
  EXPECT_GE(missing, 1);  // two keys have at most two sides
}

// The curriculum's held-out tenth is the test split of its environments.
TEST(Splits, AgreeWithTheCurriculum) {
  for (data::Split split : {data::Split::train, data::Split::held_out})
    for (uint64_t i = 0; i < 300; ++i) {
      const Problem p = curriculum_problem({.split = split, .seed = 3}, i);
      ASSERT_TRUE(p.key.starts_with(p.kind + ": "));
      EXPECT_EQ(split_of(p.kind, p.key.substr(p.kind.size() + 2)) == ProblemSplit::test,
                split == data::Split::held_out);
    }
}

}  // namespace
}  // namespace quern::gym
