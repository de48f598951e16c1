// Rollouts by themselves: sampling, what waits, what is too old, and how they become batches and gradients.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "quern/kernels/cpu/products.h"
#include "quern/models/packed_twin.h"
#include "quern/rl/parity.h"
#include "quern/rl/policy_batches.h"
#include "quern/rl/rollout_buffer.h"
#include "quern/rl/rollout_sampler.h"
#include "quern/rl/rollout_supply.h"
#include "quern/text/chat/aggregation_prompt.h"
#include "tests/rl/rl_run.h"

namespace quern {
namespace {

namespace fs = std::filesystem;
using tiny::run;
using tiny::Shipped;

TEST(Rl, AggregationPromptsAreThoseOfInference) {
  Shipped s;
  models::PackedTwin twin(nn::builtin_registry(), *s.model, kernels::QuantFormat(kernels::WeightFormat::f32));
  infer::Engine engine(twin.model(), {.tokenizer = &s.tokenizer});
  rl::RolloutSampler sampler(engine, s.tokenizer, s.chat_template,
                             {.group = 3, .max_tokens = 120, .stop_ids = s.stop_ids});
  const gym::NamedEnvironment& e = gym::plugin_environments().find("lists");
  const rl::RolloutRequest ask{.environment = &e, .problem = e.generate(8, 1), .problem_seed = 8, .seed = 21};
  const rl::RolloutGroup g = sampler.run({ask}, 0)[0];
  const std::vector<int32_t> prompt = sampler.aggregation_prompt_of(g, std::vector<int64_t>{2, 0}, 5);
  const std::string text = s.tokenizer.decode(prompt, text::SpecialTokens::keep);
  for (const std::string& piece : text::aggregation_pieces(g.problem.question, 2))
    EXPECT_NE(text.find(piece), text.npos) << text;
  const std::vector<int32_t>& shown = g.rollouts[2].record.tokens;
  const std::string whole = s.tokenizer.decode(shown, text::SpecialTokens::keep);
  const size_t from = text.find("Attempt 1:\n") + 11, to = text.find("\n\nAttempt 2");
  const std::string tail = text.substr(from, to - from);
  EXPECT_FALSE(tail.empty());
  EXPECT_LE(s.tokenizer.encode(tail).size(), 6u);
  EXPECT_NE(whole.find(tail), whole.npos) << whole;
  EXPECT_LT(whole.find(tail), whole.find("</think>")) << "the end of the thinking, not the answer";
}

// An answer that is stopped and resumed with the same weights is the answer that it would have been: its draws depend on
// seed and position, and the engine reads what there is as if it had sampled it (exact mode).
TEST(Rl, PausedAnswersGoOnAsTheyWould) {
  Shipped s;
  models::PackedTwin twin(nn::builtin_registry(), *s.model, kernels::QuantFormat(kernels::WeightFormat::f32));
  infer::Engine engine(twin.model(), {.exact = true, .tokenizer = &s.tokenizer});
  rl::RolloutSampler sampler(engine, s.tokenizer, s.chat_template,
                             {.group = 3, .max_tokens = 40, .stop_ids = s.stop_ids});
  const gym::NamedEnvironment& e = gym::plugin_environments().find("lists");
  const rl::RolloutRequest ask{.environment = &e, .problem = e.generate(8, 1), .problem_seed = 8, .seed = 21};
  const rl::RolloutGroup whole = sampler.run({ask}, 0)[0];
  sampler.start(ask, 0);
  std::vector<rl::FinishedGroup> done;
  for (int64_t version = 1; done.empty(); ++version) {
    ASSERT_LT(version, 50);
    for (int i = 0; i < 7; ++i) sampler.step();
    sampler.pause();
    for (rl::GroupUnderWay at : sampler.paused())  // as a checkpoint keeps it
      sampler.restore({rl::group_under_way(Json::parse(rl::to_json(at).dump()), rl::Environments({}, {}))});
    sampler.resume(version);
    for (rl::FinishedGroup& g : sampler.take()) done.push_back(std::move(g));
  }
  kernels::set_exact_rows(false);
  const rl::RolloutGroup& parts = done[0].group;
  EXPECT_EQ(parts.version, 0);
  for (size_t i = 0; i < whole.rollouts.size(); ++i) {
    const rl::Rollout &a = whole.rollouts[i], &b = parts.rollouts[i];
    EXPECT_EQ(a.record.tokens, b.record.tokens);
    EXPECT_EQ(a.record.logprobs, b.record.logprobs);
    EXPECT_EQ(a.record.routes, b.record.routes);
    EXPECT_EQ(a.text, b.text);
    EXPECT_EQ(a.reward, b.reward);
    EXPECT_EQ(a.weights.size(), 1u);
    EXPECT_EQ(b.weights.size(), (b.record.tokens.size() + 6) / 7) << "seven tokens of each version";
  }
}

// What has had long answers starts first; how long they were is in the supply's state.
TEST(Rl, LongAnswersStartFirst) {
  Shipped s;
  models::PackedTwin twin(nn::builtin_registry(), *s.model, kernels::QuantFormat(kernels::WeightFormat::f32));
  infer::Engine engine(twin.model(), {.max_sequences = 1, .tokenizer = &s.tokenizer});  // groups end as they start
  rl::RolloutSampler sampler(engine, s.tokenizer, s.chat_template,
                             {.group = 2, .max_tokens = 120, .stop_ids = s.stop_ids});
  train::RlConfig c;
  c.environments = {"logic", "walks"};
  const rl::Environments environments(c, {});
  const gym::LearnerDifficulties difficulties(environments.difficulties());
  rl::SupplyOptions options;
  options.name = "gym", options.seed = 3;
  rl::RolloutSupply first(sampler, environments, difficulties, options);
  constexpr int64_t kGroups = 8;
  const auto ended = [&](rl::RolloutSupply& supply, int64_t version) {
    supply.fill(kGroups, 0, version);
    std::vector<std::string> names;
    for (int64_t i = 0; i < kGroups; ++i) names.push_back(supply.take(1)[0].environment->name);
    return names;
  };
  const std::vector<std::string> unknown = ended(first, 0);
  EXPECT_FALSE(std::ranges::is_sorted(unknown)) << "in the order of their rows while no length is known";
  rl::RolloutSupply resumed(sampler, environments, difficulties, options);
  resumed.restore({Json::parse(first.state().dump())});
  for (rl::RolloutSupply* supply : {&first, &resumed}) {
    const std::vector<std::string> names = ended(*supply, 1);
    EXPECT_TRUE(std::ranges::is_sorted(names, std::greater())) << "walks before logic";
    EXPECT_NE(names.front(), names.back());
  }
}

// A group whose first tokens are too old by the time it ends is dropped whole.
TEST(Rl, StaleGroupsAreDroppedWhole) {
  Shipped s;
  models::PackedTwin twin(nn::builtin_registry(), *s.model, kernels::QuantFormat(kernels::WeightFormat::f32));
  infer::Engine engine(twin.model(), {.max_sequences = 3, .tokenizer = &s.tokenizer});
  rl::RolloutSampler sampler(engine, s.tokenizer, s.chat_template,
                             {.group = 3, .max_tokens = 40, .stop_ids = s.stop_ids});
  const gym::NamedEnvironment& e = gym::plugin_environments().find("lists");
  for (int64_t id : {7, 8})
    sampler.start({.id = id, .environment = &e, .problem = e.generate(8, 1), .problem_seed = 8, .seed = 21}, 0);
  for (int i = 0; i < 5; ++i) sampler.step();
  sampler.pause();
  sampler.resume(3);
  sampler.step(), sampler.pause();
  ASSERT_EQ(sampler.paused().size(), 2u);
  EXPECT_EQ(sampler.paused()[0].group.version, 0);
  EXPECT_EQ(sampler.paused()[1].group.version, 3) << "it had no token of the old weights: the engine had no place";
  EXPECT_EQ(sampler.drop_older(1), (std::vector<int64_t>{7}));
  sampler.resume(4);
  while (sampler.step()) {
  }
  const std::vector<rl::FinishedGroup> done = sampler.take();
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].id, 8);
  EXPECT_EQ(done[0].group.rollouts.size(), 3u);
}

std::vector<rl::RolloutGroup> some_groups(Shipped& s) {
  models::PackedTwin twin(nn::builtin_registry(), *s.model, kernels::QuantFormat(kernels::WeightFormat::f32));
  infer::Engine engine(twin.model(), {.tokenizer = &s.tokenizer});
  rl::RolloutSampler sampler(engine, s.tokenizer, s.chat_template,
                             {.group = 3, .max_tokens = 40, .stop_ids = s.stop_ids});
  std::vector<rl::RolloutRequest> asks;
  for (const char* name : {"lists", "stories"}) {
    const gym::NamedEnvironment& e = gym::plugin_environments().find(name);
    asks.push_back({.environment = &e, .problem = e.generate(8, 1), .problem_seed = 8, .seed = 21});
  }
  std::vector<rl::RolloutGroup> groups = sampler.run(std::move(asks), 3);
  double a = -1;
  for (rl::RolloutGroup& g : groups)
    for (rl::Rollout& r : g.rollouts) r.advantage = a += 0.4;
  return groups;
}

TEST(Rl, MicroBatchesDoNotShowInTheGradient) {
  Shipped s;
  const std::vector<rl::RolloutGroup> groups = some_groups(s);
  std::vector<rl::LearnedRollout> rollouts;
  for (const rl::RolloutGroup& g : groups)
    for (const rl::Rollout& r : g.rollouts) rollouts.push_back({&g, &r});
  for (const char* normalize : {"rollout", "token"}) {
    std::vector<std::map<std::string, Tensor>> gradients;
    std::vector<double> losses;
    for (int64_t micro_tokens : {100000, 1}) {
      train::RlConfig c;
      c.max_tokens = 40, c.micro_tokens = micro_tokens, c.loss.normalize = normalize;
      const std::vector<train::MicroBatch> micro = rl::policy_batches(rollouts, c);
      EXPECT_EQ(micro.size(), micro_tokens == 1 ? rollouts.size() : 1);
      int64_t total = 0;
      for (const train::MicroBatch& m : micro) total += m.weight;
      nn::zero_grad(*s.model);
      rl::PolicyStats stats;
      double loss = 0;
      for (const train::MicroBatch& m : micro) {
        grad::Tape tape(grad::Tape::training);
        const grad::Var l = rl::policy_loss(tape, *s.model, m, stats);
        const double share = static_cast<double>(m.weight) / static_cast<double>(total);
        loss += share * l.value.item();
        tape.backward(l, share);
      }
      losses.push_back(loss);
      auto& here = gradients.emplace_back();
      s.model->visit("", [&](const std::string& name, grad::Parameter& p) {
        if (p.trainable && p.grad.defined()) here[name] = p.grad.clone();
      });
      EXPECT_LT(std::abs(stats.log_ratio / stats.tokens), 1e-4);
    }
    EXPECT_NEAR(losses[0], losses[1], 1e-5);
    for (const auto& [name, g] : gradients[0]) {
      double size = 0, apart = 0;
      for (int64_t i = 0; i < g.size(); ++i) {
        const double x = static_cast<double>(g.data<float>()[i]),
                     d = x - static_cast<double>(gradients[1].at(name).data<float>()[i]);
        size += x * x, apart += d * d;
      }
      EXPECT_LE(std::sqrt(apart), 2e-3 * std::sqrt(size) + 1e-9) << normalize << " " << name;
    }
  }
}

TEST(Rl, WaitingRolloutsSurviveACheckpoint) {
  Shipped s;
  const std::vector<rl::RolloutGroup> groups = some_groups(s);
  std::vector<rl::RolloutGroup> back;
  for (const rl::RolloutGroup& g : groups)
    back.push_back(rl::rollout_group(Json::parse(rl::to_json(g).dump()), rl::Environments({}, {})));
  for (size_t g = 0; g < groups.size(); ++g) {
    EXPECT_EQ(back[g].prompt, groups[g].prompt);
    EXPECT_EQ(back[g].problem.question, groups[g].problem.question);
    EXPECT_EQ(back[g].version, 3);
    for (size_t i = 0; i < groups[g].rollouts.size(); ++i) {
      const rl::Rollout &a = groups[g].rollouts[i], &b = back[g].rollouts[i];
      EXPECT_EQ(a.record.tokens, b.record.tokens);
      EXPECT_EQ(a.record.logprobs, b.record.logprobs) << "to the bit";
      EXPECT_EQ(a.record.routes, b.record.routes);
      EXPECT_EQ(a.weights, b.weights);
      EXPECT_EQ(a.advantage, b.advantage);
      EXPECT_EQ(a.reward, b.reward);
      EXPECT_EQ(a.text, b.text);
    }
  }
}

TEST(Rl, ParityIsZeroInExactModeAndSmallWithoutIt) {
  Shipped s;
  rl::ParityOptions o{.tokens = 400, .max_tokens = 40, .environment = "units", .stop_ids = s.stop_ids};
  const rl::ParityReport fast = rl::measure_parity(nn::builtin_registry(), *s.model, s.tokenizer, s.chat_template, o);
  EXPECT_GE(fast.own.tokens, 400);
  EXPECT_LT(fast.replayed.kl, 1e-2);
  EXPECT_GT(fast.replayed.pearson, 0.99);
  EXPECT_GT(fast.replayed.max_abs_delta_logprob, 0) << "two passes in bf16 round differently";
  o.exact = true;
  const rl::ParityReport exact =
      rl::measure_parity(nn::builtin_registry(), *s.model, s.tokenizer, s.chat_template, o);
  kernels::set_exact_rows(false);
  EXPECT_GE(exact.exact.tokens, 400);
  EXPECT_EQ(exact.exact.max_abs_delta_logprob, 0);
  EXPECT_EQ(exact.share_routes_differ, 0);
}

}  // namespace
}  // namespace quern
