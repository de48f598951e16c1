// [phase.rl] of a recipe: reinforcement learning with verifiable rewards. A phase that names environments samples its own
// training data: problems of the gym, groups of answers to each, rewards by the environments' verifiers.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "quern/base/config.h"
#include "quern/gym/difficulty.h"

namespace quern::train {

struct PolicyLossConfig {
  std::string kind = "dppo", normalize = "rollout";
  double delta = 0.1, clip_low = 0.2, clip_high = 0.28, max_ratio = 10, kl = 0;
  bool two_sided = false;
  template <class V>
  void visit(V& v) {
    v("kind", kind,
      "`dppo` (masks tokens by divergence: difference of probabilities), `dppo_kl` (by KL), `ppo` (clips ratios, as "
      "in GRPO), `importance` (truncated importance sampling) or `reinforce` (no correction)");
    v("delta", delta, "dppo: divergence beyond which a token that would move further is masked",
      {.range = Bounds::above(0)});
    v("two_sided", two_sided, "dppo: mask by divergence whatever the direction");
    v("clip_low", clip_low, "ppo: ratios below 1 minus this are clipped", {.range = Bounds::between(0, 1)});
    v("clip_high", clip_high, "ppo: ratios above 1 plus this are clipped", {.range = Bounds::at_least(0)});
    v("max_ratio", max_ratio, "maximum importance ratio of a token (dppo, importance)",
      {.range = Bounds::at_least(1)});
    v("normalize", normalize,
      "`rollout`: sum over the tokens of a rollout divided by max_tokens, mean over rollouts; `token`: mean over "
      "tokens");
    v("kl", kl, "weight of the KL divergence to the model that the run began with (`model.from`); 0 needs none",
      {.range = Bounds::at_least(0)});
  }
};

struct LengthBonusConfig {
  double weight = 0, margin = 0.05;
  int64_t tolerance = 32, max_tokens = 0;
  template <class V>
  void visit(V& v) {
    v("weight", weight, "size of the bonus for short right answers; 0 disables it", {.range = Bounds::at_least(0)});
    v("tolerance", tolerance, "answers this many tokens longer than the shortest right one get the whole bonus",
      {.range = Bounds::at_least(0)});
    v("margin", margin, "a group gets a bonus if its success is at most this far below the environment's best",
      {.range = Bounds::between(0, 1)});
    v("max_tokens", max_tokens, "length at which the bonus is lowest; 0 is the phase's max_tokens",
      {.range = Bounds::at_least(0)});
  }
};

struct AggregationConfig {
  double share = 0;
  int64_t candidates = 4, tail = 128;
  template <class V>
  void visit(V& v) {
    v("share", share,
      "part of the answered problems that are asked again with an aggregation prompt, which shows the ends of the "
      "model's own answers to them, as Markovian RSA does; 0: none",
      {.range = Bounds::between(0, 1)});
    v("candidates", candidates, "answers of a group that the aggregation prompt shows",
      {.range = Bounds::at_least(2)});
    v("tail", tail, "maximum tokens shown of each, from its end", {.range = Bounds::at_least(1)});
  }
};

struct AstrayConfig {
  double repeated = 0.5, rare = 0.02;
  int64_t steps = 3;
  template <class V>
  void visit(V& v) {
    v("repeated", repeated, "share of answers that repeat themselves above which a step counts as astray",
      {.range = Bounds::between(0, 1)});
    v("rare", rare, "share of improbable tokens with rare ids (gibberish) above which a step counts as astray",
      {.range = Bounds::between(0, 1)});
    v("steps", steps, "a run ends after this many such steps in a row", {.range = Bounds::at_least(1)});
  }
};

struct RlConfig {
  std::vector<std::string> environments, tasks;
  int64_t group = 8, max_tokens = 256, resample = 2, updates = 1, ahead = 0, max_staleness = 0, samplers = 0,
          micro_tokens = 2048, max_sequences = 64;
  double temperature = 1, min_compression = 0.05;
  std::string advantage = "maxrl";
  bool replay_routes = true, exact = false;
  PolicyLossConfig loss;
  LengthBonusConfig length_bonus;
  AggregationConfig aggregation;
  gym::DifficultyOptions difficulty;
  AstrayConfig astray;
  template <class V>
  void visit(V& v) {
    v("environments", environments,
      "environments of the gym to learn from; none, and no tasks: the phase is supervised");
    v("tasks", tasks,
      "task files to learn from, seen from the recipe's folder: JSON lines of questions and verifiers");
    v("group", group, "answers sampled to every problem", {.range = Bounds::at_least(2)});
    v("max_tokens", max_tokens, "maximum tokens of an answer; longer ones earn nothing",
      {.range = Bounds::at_least(1)});
    v("temperature", temperature, "sampling temperature", {.range = Bounds::above(0)});
    v("advantage", advantage,
      "advantage of an answer: `maxrl` (distance to the group's mean reward, divided by that mean), `grpo` (divided "
      "by the standard deviation), `centered` (not divided) or `rloo` (distance to the mean of the others)");
    v("loss", loss, "policy loss");
    v("length_bonus", length_bonus, "bonus for short right answers");
    v("aggregation", aggregation, "prompts of test-time compute");
    v("difficulty", difficulty, "difficulty that follows the learner, for each environment");
    v("resample", resample,
      "dynamic sampling: how often problems whose answers all earn the same are replaced by new ones",
      {.range = Bounds::at_least(0)});
    v("updates", updates, "optimizer steps per round of sampling; from the second on rollouts are stale",
      {.range = Bounds::at_least(1)});
    v("ahead", ahead,
      "asynchronous rollouts: a thread samples for the step that comes this many steps later while the optimizer "
      "works; 0: sampling and learning take turns",
      {.range = Bounds::at_least(0)});
    v("max_staleness", max_staleness,
      "with `ahead`: groups with tokens older than this many steps are dropped whole; 0 is `ahead` and 2",
      {.range = Bounds::at_least(0)});
    v("samplers", samplers,
      "ranks, the last ones, that only sample, for the others to learn from (with `ahead`, while these learn); 0: "
      "every "
      "rank does both",
      {.range = Bounds::at_least(0)});
    v("replay_routes", replay_routes, "train with the experts that were chosen while sampling");
    v("exact", exact,
      "importance ratios between log-probabilities of one and the same forward pass: without stale rollouts they "
      "are 1");
    v("astray", astray, "when a run has collapsed and ends");
    v("min_compression", min_compression,
      "answers that compress to less than this share of their size repeat themselves and earn nothing",
      {.range = Bounds::between(0, 1)});
    v("micro_tokens", micro_tokens, "tokens per micro-batch (gradient accumulation)", {.range = Bounds::at_least(1)});
    v("max_sequences", max_sequences, "maximum number of answers in the engine at once",
      {.range = Bounds::at_least(1)});
  }
  int64_t stalest() const { return max_staleness > 0 ? max_staleness : ahead + 2; }
  bool on() const { return !environments.empty() || !tasks.empty(); }
};
void check(const RlConfig& c, const std::string& where);  // throws Error naming the field

}  // namespace quern::train
