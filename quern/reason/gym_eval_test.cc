// Problems and scores of an evaluation on environments, answered by simulated learners instead of a model.
#include "quern/reason/gym_eval.h"

#include <gtest/gtest.h>

#include <deque>
#include <set>

#include "quern/base/error.h"
#include "quern/base/test_message.h"
#include "quern/reason/gym_eval_report.h"

namespace quern::reason {
namespace {

gym::EnvironmentAt at(const char* name, int64_t difficulty = 0) {
  return {&gym::plugin_environments().find(name), difficulty};
}

// Answers each problem right with the chance that success(difficulty) gives, `late` problems after it was asked.
template <class F>
int64_t answer_all(GymProblems& problems, F&& success, size_t late = 5) {
  Rng r(11);
  std::deque<EvalProblem> running;
  int64_t asked = 0;
  for (;;) {
    while (running.size() < late) {
      std::optional<EvalProblem> p = problems.next();
      if (!p) break;
      ++asked, running.push_back(std::move(*p));
    }
    if (running.empty()) return asked;
    const EvalProblem p = std::move(running.front());
    running.pop_front();
    const bool right = r.uniform() < success(p.problem.difficulty);
    const gym::Verdict v = problems.judge(p.problem, right ? "Answer: " + p.problem.answer : "");
    problems.answered({p.problem, {}, v.reward == 1, p, v, v.reward});
  }
}

TEST(GymEval, AsksEveryProblemAsOftenAsAsked) {
  const GymProblemOptions o{
      .asked = {at("lists", 1), at("lists", 3), at("dates", 2)}, .choice = {.seed = 4}, .count = 6, .samples = 3};
  const auto problems = gym_problems(o);
  std::map<std::string, std::set<int64_t>> samples;
  std::set<uint64_t> seeds;
  while (const auto p = problems->next()) {
    const std::string id = fmt::format("{} {} {}", p->problem.kind, p->problem.difficulty, p->seed);
    EXPECT_TRUE(samples[id].insert(p->sample).second);
    EXPECT_TRUE(seeds.insert(p->sampling_seed).second) << "samples differ";
  }
  EXPECT_EQ(samples.size(), 18u);
  for (const auto& [id, s] : samples) EXPECT_EQ(s, (std::set<int64_t>{0, 1, 2})) << id;
}

TEST(GymEval, AsksADifferentProblemEachTime) {
  const GymProblemOptions o{.asked = {at("dates", 0), at("lists", 1), at("units", 0)}, .count = 40, .samples = 2};
  const auto problems = gym_problems(o);
  std::map<std::string, std::set<std::string>> questions;
  std::map<std::string, int64_t> asked;
  while (const auto p = problems->next()) {
    questions[p->problem.kind].insert(p->problem.question), ++asked[p->problem.kind];
    problems->answered({p->problem, {}, true, *p, {1, "right"}, 1});
  }
  for (const auto& [kind, different] : questions) {
    EXPECT_EQ(asked[kind], 2 * static_cast<int64_t>(different.size())) << kind;
    EXPECT_EQ(problems->scores().at(kind).all().problems(), static_cast<int64_t>(different.size())) << kind;
  }
  EXPECT_EQ(questions["lists"].size(), 40u);
  ASSERT_EQ(problems->few().size(), 2u);
  EXPECT_EQ(problems->few()[0].at.environment->name, "dates");
  EXPECT_EQ(problems->few()[0].there, 3);
  EXPECT_EQ(questions["dates"].size(), 3u);
  EXPECT_EQ(problems->few()[1].there, static_cast<int64_t>(questions["units"].size()));
  const Interval i = problems->scores().at("dates").all().interval();
  EXPECT_LT(i.low, 0.5) << "of three problems";
}

// Where none repeats, the problems are those of the split in order of their index.
TEST(GymEval, ProblemsThatDifferAreThoseOfTheSplit) {
  const GymProblemOptions o{.asked = {at("arithmetic", 6)}, .count = 20};
  const auto problems = gym_problems(o);
  for (uint64_t i = 0; i < 20; ++i)
    EXPECT_EQ(problems->next()->seed, gym::split_problem(o.asked[0], o.choice, i).seed);
}

TEST(GymEval, ACalibrationAsksNoProblemTwice) {
  const GymProblemOptions o{.asked = {at("dates"), at("hanoi")}, .calibrate = true, .count = 8};
  const auto problems = gym_problems(o);
  std::set<std::pair<int64_t, std::string>> asked;
  problems->on_answer([&](const GradedAnswer& a) {
    EXPECT_TRUE(asked.emplace(a.problem.difficulty, a.problem.question).second) << a.problem.question;
  });
  answer_all(*problems, [](int64_t) { return 0.0; });
  EXPECT_EQ(problems->scores().at("dates").level_text(), "below 0");
}

// One environment's problems do not depend on which others are asked.
TEST(GymEval, ProblemsAreTheSameInAnyCompany) {
  const auto questions = [](std::vector<gym::EnvironmentAt> asked) {
    const GymProblemOptions o{.asked = std::move(asked), .count = 5};
    const auto problems = gym_problems(o);
    std::set<std::pair<std::string, uint64_t>> out;
    while (const auto p = problems->next())
      if (p->problem.kind == "dates") out.emplace(p->problem.question, p->sampling_seed);
    return out;
  };
  EXPECT_EQ(questions({at("dates", 2)}), questions({at("lists", 1), at("dates", 2), at("nim", 0)}));
}

TEST(GymEval, CountsPassAtKAndRewards) {
  const GymProblemOptions o{.asked = {at("arithmetic", 0), at("arithmetic", 4)}, .count = 50, .samples = 4};
  const auto problems = gym_problems(o);
  int64_t heard = 0;
  problems->on_answer([&](const GradedAnswer&) { ++heard; });
  EXPECT_EQ(answer_all(*problems, [](int64_t d) { return d == 0 ? 1.0 : 0.5; }), 400);
  EXPECT_EQ(heard, 400);
  const EnvironmentScore& e = problems->scores().at("arithmetic");
  const DifficultyScore &easy = e.by_difficulty.at(0), &hard = e.by_difficulty.at(4);
  EXPECT_EQ(easy.success(), 1);
  EXPECT_EQ(easy.pass_at(4), 1);
  EXPECT_NEAR(hard.success(), 0.5, 0.12);
  EXPECT_NEAR(hard.pass_at(1), hard.success(), 1e-12);
  EXPECT_NEAR(hard.pass_at(4), 1 - 0.0625, 0.12);
  EXPECT_NEAR(hard.mean_reward(), hard.success(), 1e-12);
  EXPECT_GT(hard.interval().high - hard.interval().low, 0.25) << "as of 50 problems, not of 200 samples";
  EXPECT_EQ(e.all().problems(), 100);
  EXPECT_LT(e.curve().success(4), e.curve().success(0));
}

TEST(GymEval, CalibrationFindsTheLevel) {
  const GymProblemOptions o{.asked = {at("arithmetic"), at("lists"), at("stories")},
                            .calibrate = true,
                            .choice = {.split = gym::ProblemSplit::train},
                            .count = 8};
  const auto problems = gym_problems(o);
  const gym::ResponseCurve truth{7, 1.5};
  const int64_t asked = answer_all(*problems, [&](int64_t d) { return truth.success(static_cast<double>(d)); });
  EXPECT_LE(asked, 3 * 8 * kMaxCalibrationGroups);
  for (const char* name : {"arithmetic", "lists", "stories"}) {
    const EnvironmentScore& e = problems->scores().at(name);
    EXPECT_LE(e.level->groups(), kMaxCalibrationGroups);
    EXPECT_EQ(e.all().problems(), 8 * e.level->groups());
    EXPECT_NEAR(e.level->curve().level, 7, 1.5) << name;
    EXPECT_LT(e.level->level_deviation(), 0.6);
    EXPECT_FALSE(e.below() || e.above());
    EXPECT_NE(e.level_text().find(" ± "), std::string::npos);
  }
}

TEST(GymEval, CalibrationEndsOutsideTheDifficulties) {
  const GymProblemOptions o{.asked = {at("hanoi"), at("combinations")}, .calibrate = true, .count = 8};
  const auto none = gym_problems(o), all = gym_problems(o);
  answer_all(*none, [](int64_t) { return 0.0; });
  EXPECT_EQ(none->scores().at("hanoi").level_text(), "below 0");
  answer_all(*all, [](int64_t) { return 1.0; });
  EXPECT_EQ(all->scores().at("hanoi").level_text(), "above 6");
  EXPECT_LT(all->scores().at("hanoi").level->groups(), kMaxCalibrationGroups);
}

TEST(GymEval, OptionsThatCannotBeAreRefused) {
  EXPECT_EQ(message_of([] { check(GymProblemOptions{}); }), "no environments to evaluate on");
  EXPECT_EQ(message_of([] { check(GymProblemOptions{.asked = {at("nim")}, .calibrate = true, .count = 0}); }),
            "0 problems per group: expected 1 or more");
  EXPECT_NE(message_of([] { check(GymProblemOptions{.asked = {at("nim")}, .samples = 0}); }), "");
  EXPECT_NE(message_of([] { check(GymProblemOptions{.asked = {at("nim")}, .calibrate = true, .samples = 2}); }), "");
}

TEST(GymEval, TheReportHasEveryFigure) {
  const GymProblemOptions o{
      .asked = {at("lists", 0), at("lists", 2), at("arithmetic", 0)}, .count = 10, .samples = 2};
  const auto problems = gym_problems(o);
  answer_all(*problems, [](int64_t d) { return d == 0 ? 1.0 : 0.0; });
  const GymRun run{.model = "a <b> model",
                   .plan = "single",
                   .split = "dev",
                   .samples = 2,
                   .cost = {},
                   .scores = problems->scores(),
                   .pairs = PairedCounts{.both = 3, .only_first = 1, .only_second = 7, .neither = 2}};
  const Json j = gym_eval_json(run);
  const Json& lists = j.at("environments").as_array().at(1);
  EXPECT_EQ(lists.at("name").as_string(), "lists");
  EXPECT_EQ(lists.at("difficulties").as_array().at(0).at("pass@2").as_double(), 1);
  EXPECT_EQ(lists.at("difficulties").as_array().at(1).at("avg@2").as_double(), 0);
  EXPECT_EQ(j.at("all").at("problems").as_int(), 30);
  EXPECT_EQ(j.at("against").at("only_second").as_int(), 7);
  const std::string page = gym_eval_page(run);
  EXPECT_NE(page.find("a &lt;b&gt; model"), std::string::npos);
  EXPECT_EQ(page.find("{{"), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos) << "one file, nothing fetched";
  EXPECT_NE(page.find("pass@2"), std::string::npos);
  size_t charts = 0, points = 0;
  for (size_t i = page.find("<svg"); i != page.npos; i = page.find("<svg", i + 1)) ++charts;
  for (size_t i = page.find("<circle"); i != page.npos; i = page.find("<circle", i + 1)) ++points;
  EXPECT_EQ(charts, 2u);
  EXPECT_EQ(points, 3u);
  EXPECT_EQ(reported_k(1), (std::vector<int64_t>{1}));
  EXPECT_EQ(reported_k(6), (std::vector<int64_t>{1, 2, 4, 6}));
  EXPECT_EQ(reported_k(8), (std::vector<int64_t>{1, 2, 4, 8}));
}

}  // namespace
}  // namespace quern::reason
