// Reinforcement learning end to end on the shipped model: a run that is stopped and resumed, also with rollouts waiting,
// gives the bits of an undisturbed one; without stale rollouts exact ratios are 1.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <fstream>
#include <map>

#include "quern/comm/in_process.h"
#include "quern/kernels/cpu/products.h"
#include "quern/rl/rollout_checks.h"
#include "quern/rl/rollout_source.h"
#include "quern/text/chat/aggregation_prompt.h"
#include "tests/rl/rl_run.h"

namespace quern {
namespace {

namespace fs = std::filesystem;
using tiny::equal;
using tiny::Folder;
using tiny::Outcome;
using tiny::recipe;
using tiny::run;

TEST(Rl, ResumedRunsAreUndisturbedOnesBitForBit) {
  const Folder f("rl_resume");
  const train::Recipe r = recipe(f, "updates = 2\nexact = true");
  const Outcome whole = run(r, f.path / "whole", 4);
  ASSERT_EQ(whole.steps.size(), 4u);
  for (int64_t stop : {1, 2}) {  // after 1, half of the rollouts wait in the checkpoint
    const fs::path out = f.path / fmt::format("stop{}", stop);
    run(r, out, stop);
    const Outcome rest = run(r, out, 4);
    ASSERT_EQ(static_cast<int64_t>(rest.steps.size()), 4 - stop);
    EXPECT_TRUE(equal(whole, rest)) << "stopped after step " << stop;
    EXPECT_EQ(whole.steps[3].reward, rest.steps.back().reward);
    EXPECT_EQ(whole.steps[3].loss, rest.steps.back().loss);
    EXPECT_EQ(rest.steps.back().staleness, 1);
    EXPECT_EQ(whole.steps[3].max_ratio, rest.steps.back().max_ratio);
  }
  kernels::set_exact_rows(false);
  std::ifstream log(f.path / "stop1" / "rollouts.jsonl");
  int64_t lines = 0;
  for (std::string line; std::getline(log, line); ++lines)
    EXPECT_EQ(Json::parse(line).at("step").as_int(), lines / 3 + 1);
  EXPECT_EQ(lines, 12) << "three problems a step, each step once";
}

// What an earlier round left over, here by a batch size that was changed behind a checkpoint, is part of the next round and
// not all of it. Aggregation prompts leave a group over now and then.
TEST(Rl, RoundsAreFilledUpByWhatTheyLack) {
  const Folder f("rl_left_over");
  run(recipe(f, "updates = 2"), f.path / "out", 1);  // three groups wait
  train::Recipe wider = recipe(f);
  wider.phase[0].batch_size = 4;
  const Outcome rest = run(wider, f.path / "out", 3);
  ASSERT_EQ(rest.steps.size(), 2u);
  EXPECT_EQ(rest.steps[0].staleness, 0.75) << "three old groups and a fresh one";
  EXPECT_EQ(rest.steps[1].staleness, 0);
}

// Answers that other weights began go on in the next step; none of it depends on which thread is faster.
TEST(Rl, RolloutsSampledAheadResumeBitForBit) {
  const Folder f("rl_ahead");
  const train::Recipe r = recipe(f, "ahead = 2\nmax_sequences = 4\nreplay_routes = true");
  const Outcome whole = run(r, f.path / "whole", 4);
  ASSERT_EQ(whole.steps.size(), 4u);
  EXPECT_EQ(whole.steps[0].staleness, 0);
  EXPECT_GT(*whole.steps[3].staleness, 1);
  EXPECT_LE(*whole.steps[3].staleness, 4) << "ahead and 2, at most";
  const Outcome again = run(r, f.path / "again", 4);
  EXPECT_TRUE(equal(whole, again));
  run(r, f.path / "stop", 2);
  const Outcome rest = run(r, f.path / "stop", 4);
  ASSERT_EQ(rest.steps.size(), 2u);
  EXPECT_TRUE(equal(whole, rest));
  EXPECT_EQ(whole.steps[3].reward, rest.steps.back().reward);
  EXPECT_EQ(whole.steps[3].staleness, rest.steps.back().staleness);
}

// Problems are asked again with the ends of the answers to them, before and after a checkpoint.
TEST(Rl, AggregationPromptsShowOwnAnswers) {
  const Folder f("rl_aggregation");
  train::Recipe r =
      recipe(f, "ahead = 1\nmax_sequences = 8\naggregation = { share = 1.0, candidates = 2, tail = 24 }");
  r.phase[0].rl.difficulty = {.start = 4}, r.phase[0].rl.max_tokens = 100;
  const Outcome whole = run(r, f.path / "whole", 4);
  run(r, f.path / "part", 2);
  EXPECT_TRUE(equal(whole, run(r, f.path / "part", 4)));
  std::ifstream log(f.path / "whole" / "rollouts.jsonl");
  int aggregated = 0, plain = 0;
  for (std::string line; std::getline(log, line);) {
    const Json j = Json::parse(line);
    ++(j.at("aggregation", "line").as_bool("aggregation") ? aggregated : plain);
  }
  EXPECT_GT(aggregated, 0);
  EXPECT_GE(plain, aggregated);
}

// Every rank samples its share of a step's problems; what all of them earned is known to each.
TEST(Rl, RanksShareTheProblems) {
  const Folder f("rl_ranks");
  const train::Recipe r = recipe(f);
  std::array<std::vector<train::StepMetrics>, 2> steps;
  comm::run_ranks(2, [&](comm::Communicator& c) {
    train::TrainOptions o{.out = f.path / "out"};
    train::Trainer t(r, nn::builtin_registry(), c, rl::with_rollouts(o, r, nn::builtin_registry()));
    while (t.finished() < 2 && t.step()) steps[static_cast<size_t>(c.rank())].push_back(t.last());
  });
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(steps[0][i].reward, steps[1][i].reward);
    EXPECT_EQ(steps[0][i].answer_tokens, steps[1][i].answer_tokens);
    EXPECT_EQ(steps[0][i].difficulty, steps[1][i].difficulty);
  }
  const Outcome alone = run(r, f.path / "alone", 1);
  EXPECT_NEAR(*steps[0][0].reward, *alone.steps[0].reward, 1e-12) << "the same problems, the same answers";
}

// A rank that samples and one that learns from it are one rank that does both, bit for bit, also across a checkpoint and
// with answers under way; three ranks of which two sample see the same problems.
TEST(Rl, RanksThatSampleForAnotherChangeNothing) {
  const Folder f("rl_samplers");
  const std::string ahead = "ahead = 1\nmax_sequences = 8\naggregation = { share = 0.5, candidates = 2, tail = 24 }";
  const Outcome alone = run(recipe(f, ahead), f.path / "alone", 4);
  const train::Recipe r = recipe(f, ahead + "\nsamplers = 1");
  run(r, f.path / "pair", 2, 2);
  const Outcome pair = run(r, f.path / "pair", 4, 2);
  ASSERT_EQ(pair.steps.size(), 2u);
  EXPECT_TRUE(equal(alone, pair));
  for (size_t i : {0u, 1u}) {
    EXPECT_EQ(alone.steps[i + 2].reward, pair.steps[i].reward);
    EXPECT_EQ(alone.steps[i + 2].staleness, pair.steps[i].staleness);
  }
  std::ifstream a(f.path / "alone" / "rollouts.jsonl"), b(f.path / "pair" / "rollouts.jsonl");
  const std::string wanted((std::istreambuf_iterator<char>(a)), {}), got((std::istreambuf_iterator<char>(b)), {});
  EXPECT_EQ(wanted, got);
  const train::Recipe two = recipe(f, "samplers = 2");
  const Outcome one = run(recipe(f), f.path / "one", 1), three = run(two, f.path / "three", 1, 3);
  EXPECT_NEAR(*one.steps[0].reward, *three.steps[0].reward, 1e-12) << "the same problems, the same answers";
  EXPECT_THROW(run(two, f.path / "none", 1, 2), Error) << "none would learn";
}

TEST(Rl, MetricsSayWhatHappened) {
  const Folder f("rl_metrics");
  const Outcome done = run(recipe(f, "updates = 2"), f.path / "out", 2);
  const train::StepMetrics &fresh = done.steps[0], &stale = done.steps[1];
  EXPECT_EQ(fresh.staleness, 0);
  EXPECT_EQ(stale.staleness, 1);
  for (const train::StepMetrics& m : done.steps) {
    for (const auto& share : {m.reward, m.solved, m.signal, m.finished, m.repeated}) {
      ASSERT_TRUE(share);
      EXPECT_GE(*share, 0);
      EXPECT_LE(*share, 1);
    }
    EXPECT_GT(*m.answer_tokens, 1);
    EXPECT_LE(*m.answer_tokens, 48);
  }
  ASSERT_TRUE(fresh.kl);
  EXPECT_LT(std::abs(*fresh.kl), 1e-4) << "in f32, one forward pass and the engine agree";
  EXPECT_NEAR(*fresh.max_ratio, 1, 1e-2);
}

TEST(Rl, ExactRatiosOfFreshRolloutsAreOne) {
  const Folder f("rl_exact");
  const Outcome done = run(recipe(f, "exact = true\nupdates = 2"), f.path / "out", 2);
  kernels::set_exact_rows(false);
  EXPECT_EQ(done.steps[0].max_ratio, 1);
  EXPECT_EQ(done.steps[0].masked, 0);
  EXPECT_EQ(done.steps[0].kl, 0);
  EXPECT_NE(done.steps[1].kl, 0) << "after an update the policies differ";
}

TEST(Rl, ImpossibleRecipesAreRefusedBeforeTheFirstStep) {
  const Folder f("rl_refused");
  EXPECT_THROW(recipe(f, "group = 1"), Error);
  EXPECT_THROW(recipe(f, "advantage = \"best\""), Error);
  EXPECT_THROW(recipe(f, "updates = 0"), Error);
  EXPECT_THROW(recipe(f, "ahead = -1"), Error);
  EXPECT_THROW(recipe(f, "aggregation = { share = 0.5, candidates = 5 }"), Error) << "groups have fewer answers";
  EXPECT_THROW(recipe(f, "ahead = 1\nupdates = 2"), Error);
  EXPECT_THROW(recipe(f, "max_staleness = 3"), Error) << "nothing is sampled ahead";
  EXPECT_THROW(recipe(f, "ahead = 3\nmax_staleness = 2"), Error);
  EXPECT_THROW(recipe(f, "exact = true\ntemperature = 0.7"), Error);
  EXPECT_THROW(recipe(f, "", "[parallel]\nexperts = 2"), Error);
  EXPECT_THROW(recipe(f, "", "[parallel]\ncontext = 2"), Error);
  EXPECT_THROW(recipe(f, "[phase.rl.loss]\nkind = \"dpo\""), Error);
  train::Recipe unknown = recipe(f);
  unknown.phase[0].rl.environments = {"chess"};
  EXPECT_THROW(rl::check_rollouts(unknown), Error);
  train::Recipe silent = recipe(f);
  silent.model.from = (f.path / "nothing").string();
  EXPECT_THROW(rl::check_rollouts(silent), Error);
}

// Problems that do not fit count as failed: the difficulty falls, and the run goes on. At difficulty 0 it ends.
TEST(Rl, ProblemsThatAreTooLongLowerTheDifficulty) {
  const Folder f("rl_long");
  train::Recipe r = recipe(f);
  r.phase[0].rl.environments = {"lists"};
  r.phase[0].rl.difficulty = {.window = 1, .start = 60};
  const Outcome done = run(r, f.path / "out", 2);
  EXPECT_FALSE(done.steps[0].reward);
  EXPECT_LT(*done.steps[1].difficulty, *done.steps[0].difficulty);
  r.phase[0].rl.difficulty = {.window = 1, .start = 0};
  r.phase[0].sequence_length = 8;
  EXPECT_THROW(run(r, f.path / "short", 1), Error);
  r.phase[0].sequence_length = 30;
  EXPECT_THROW(run(r, f.path / "narrow", 1), Error) << "no room for an answer";
  r.phase[0].sequence_length = 5000;
  EXPECT_THROW(run(r, f.path / "wide", 1), Error) << "the model has 4,096 positions";
}

// Task files stand beside environments: held-out tasks are never asked, long ones neither, and a file that changed while
// answers to its tasks wait in a checkpoint is refused.
TEST(Rl, LearnsFromTaskFiles) {
  const Folder f("rl_tasks");
  const auto write = [&](int shift) {
    std::ofstream out(f.path / "sums.jsonl");
    for (int i = 0; i < 40; ++i)
      out << fmt::format(R"({{"question": "{}What is {} + {}?", "verifier": "number", "answer": {}, "split": "{}"}})"
                         "\n",
                         i % 4 == 1 ? std::string(2000, 'x') + " " : "", i, shift, i + shift,
                         i % 2 == 0 || i % 4 == 1 ? "train" : "held_out");
  };
  write(3);
  train::Recipe r = recipe(f, "updates = 2\ntasks = [\"sums.jsonl\"]");
  r.phase[0].rl.environments = {"lists"}, r.phase[0].rl.difficulty = {.start = 2};
  run(r, f.path / "out", 1);
  std::map<std::string, int> asked;
  const Outcome whole = run(r, f.path / "whole", 4);
  std::ifstream lines(f.path / "whole" / "rollouts.jsonl");
  for (std::string line; std::getline(lines, line);) {
    const Json j = Json::parse(line);
    const std::string name = j.at("environment", "line").as_string("environment");
    ++asked[name];
    if (name != "sums.jsonl") continue;
    EXPECT_EQ(j.at("difficulty", "line").as_int(), 0) << "tasks have no difficulties";
    const std::string question = j.at("question", "line").as_string("question");
    EXPECT_LT(question.size(), 100u);
    EXPECT_EQ(std::stoi(question.substr(8)) % 2, 0) << question;
  }
  EXPECT_GT(asked["sums.jsonl"], 0);
  EXPECT_GT(asked["lists"], 0);
  EXPECT_TRUE(equal(whole, run(r, f.path / "out", 4))) << "resumed with tasks that wait";

  run(r, f.path / "changed", 1);
  write(4);
  EXPECT_THROW(run(r, f.path / "changed", 4), Error);
  r.phase[0].rl.tasks = {"none.jsonl"};
  EXPECT_THROW(rl::check_rollouts(r), Error);
  r.phase[0].rl.tasks = {"sums.jsonl", "sums.jsonl"};
  EXPECT_THROW(rl::check_rollouts(r), Error);
  r.phase[0].rl.environments = {}, r.phase[0].rl.tasks = {"sums.jsonl"};
  EXPECT_TRUE(r.phase[0].rl.on());
  rl::check_rollouts(r);
}

}  // namespace
}  // namespace quern
