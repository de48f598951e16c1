// Splits of environments: what decides the side, their sizes, and what cannot be split.
// Problems of the curriculum: splits never meet, every problem is a function of seed and index, the texts are those that
// models were trained and evaluated on, and answers are read back from what a model may write.
#include "quern/gym/curriculum_problems.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/base/test_message.h"
#include "quern/gym/splits.h"

namespace quern::gym {
namespace {

TEST(Problems, ASearchGoesOnFromTheBestThatWasSeen) {
  for (uint64_t i = 0; i < 300; ++i) {
    const Problem p = curriculum_problem({.seed = 9, .min_level = 3, .kinds = {"walks", "routes"}}, i);
    Rng r(1, i);
    const std::vector<Trial>& all = p.search.tries;
    ASSERT_GT(all.size(), kTrialsShown);
    const Problem missed = worked_again(p, r, {}, 1);
    EXPECT_EQ((". " + missed.steps).find(". " + all[0].text), std::string::npos);
    EXPECT_NE(missed.found, "");
    EXPECT_FALSE(answers(assistant_content(missed), p));
    EXPECT_NE(chat_line(missed).find("\"answer\":\"" + p.answer + "\""), std::string::npos);
    const std::string claimed = missed.steps.substr(missed.steps.rfind("Best: ") + 6),
                      best = claimed.substr(0, claimed.size() - 1);
    const Problem after = worked_again(p, r, missed.steps), again = worked_again(p, r, missed.steps, 1),
                  seen = worked_again(p, r, missed.steps + p.steps, 1);
    EXPECT_TRUE(after.steps.starts_with(best));
    EXPECT_TRUE(after.steps.ends_with("Best: " + all[0].claimed + "."));
    EXPECT_TRUE(answers(assistant_content(after), p));
    EXPECT_TRUE(again.steps.starts_with(best));
    EXPECT_NE(again.found, "");
    EXPECT_TRUE(seen.steps.starts_with(all[0].claimed));  // nothing to stop short of
    EXPECT_EQ(seen.found, "");
  }
  Rng r(1);
  const Problem sum = curriculum_problem({.kinds = {"arithmetic"}}, 0);
  EXPECT_EQ(worked_again(sum, r, "17 + 26 = 43", 1).steps, sum.steps);
}

// Models were trained on these texts, and figures compare answers to them: hashes of 600 problems of a kind, written by
// the generator before its kinds became environments.
TEST(Problems, KeepTheirTexts) {
  const std::pair<const char*, uint64_t> texts[] = {
      {"arithmetic", 0xaaf0c354a916e008}, {"lists", 0xed254129f3173f57},  {"logic", 0x1ac667b3e57b73e4},
      {"dates", 0xbb73a4e22652c2f0},      {"units", 0xf4fdaa900b8af5a9},  {"stories", 0x586cb6a38aa7de1d},
      {"walks", 0x1442bc0a158099cc},      {"routes", 0xdb3765170500d7c6},
  };
  for (const auto& [kind, expected] : texts) {
    uint64_t h = 0;
    for (data::Split split : {data::Split::train, data::Split::held_out})
      for (int level = 1; level <= 5; ++level)
        for (uint64_t i = 0; i < 60; ++i)
          for (unsigned char c : plain_form(curriculum_problem(
                   {.split = split, .seed = 11, .min_level = level, .max_level = level, .kinds = {kind}}, i)))
            h = mix64(h * 31 + c + 1);
    EXPECT_EQ(h, expected) << kind;
  }
}

TEST(Problems, SplitsNeverMeet) {
  std::set<std::string> keys[2], questions[2];
  for (int side = 0; side < 2; ++side)
    for (uint64_t seed : {1, 2})
      for (uint64_t i = 0; i < 2500; ++i) {
        const Problem p =
            curriculum_problem({.split = side ? data::Split::held_out : data::Split::train, .seed = seed}, i);
        keys[side].insert(p.key), questions[side].insert(p.question);
      }
  for (const std::string& k : keys[1]) EXPECT_EQ(keys[0].count(k), 0u) << k;
  for (const std::string& q : questions[1]) EXPECT_EQ(questions[0].count(q), 0u) << q;
  EXPECT_GT(keys[0].size(), 3000u);
}

TEST(Problems, AreAFunctionOfSeedAndIndex) {
  std::set<std::string> kinds;
  int same = 0;
  for (uint64_t i = 0; i < 200; ++i) {
    const Problem a = curriculum_problem({.seed = 3}, i), b = curriculum_problem({.seed = 3}, i),
                  c = curriculum_problem({.seed = 4}, i);
    EXPECT_EQ(plain_form(a), plain_form(b));
    same += a.question == c.question;
    kinds.insert(a.kind);
    EXPECT_TRUE(answers(plain_form(a), a));
    EXPECT_TRUE(answers(assistant_content(a), a));
  }
  EXPECT_LT(same, 10);
  EXPECT_EQ(kinds.size(), problem_kinds().size());
}

TEST(Problems, AnswersAreReadBack) {
  EXPECT_EQ(final_answer("<think>\nAnswer: 3\n</think>\n\nAnswer:  In the  Mill.\nBye"), "in the mill");
  EXPECT_EQ(final_answer("42"), "42");
  EXPECT_EQ(final_answer("Answer: 1\nAnswer: 2."), "2");
  EXPECT_EQ(final_answer("**Answer: 5**"), "5");
  EXPECT_EQ(final_answer("*Answer:* The Mill"), "the mill");
  const Problem p = curriculum_problem({}, 0);
  EXPECT_FALSE(answers("Answer: something else", p));
  const Json j = Json::parse(chat_line(p));
  EXPECT_EQ(j.at("messages").as_array()[1].at("content").as_string(), assistant_content(p));
  EXPECT_EQ(j.at("answer").as_string(), p.answer);
}

TEST(Problems, MistakesAreNamed) {
  EXPECT_THROW(check({.min_level = 0}), Error);
  EXPECT_THROW(check({.min_level = 4, .max_level = 3}), Error);
  EXPECT_THROW(check({.kinds = {"logik"}}), Error);
}

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
