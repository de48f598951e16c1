// Rollouts: groups of sampled answers to problems of the gym, judged by their environments. The answers of all groups are
// in the engine together (continuous batching). What is sampled depends on the weights, the problems and the seeds alone.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quern/gym/environment_registry.h"
#include "quern/infer/engine/engine.h"
#include "quern/text/chat/chat_template.h"
#include "quern/train/recipe/rl_config.h"

namespace quern::rl {

struct Rollout {
  infer::RolloutRecord record;
  double reward = 0, advantage = 0;
  std::string text, reason;  // the answer, and why it earned what it earned
  bool finished = false;     // it ended before the limit
  bool repeats = false;      // it repeats itself: no reward, whatever it answers
};

struct RolloutGroup {
  const gym::NamedEnvironment* environment = nullptr;
  gym::Problem problem;
  uint64_t problem_seed = 0;
  std::vector<int32_t> prompt;
  int64_t version = 0;  // of the weights
  std::vector<Rollout> rollouts;

  std::vector<double> rewards() const;
  double mean_reward() const;
  double share_solved() const;  // of answers with reward 1
};

// What every answer of a run is sampled with.
struct RolloutOptions {
  int64_t group = 8, max_tokens = 256, max_length = 0;  // max_length: of prompt and answer
  double temperature = 1, min_compression = 0.05;
  std::vector<int64_t> stop_ids;
};

class RolloutSampler {
 public:
  // The engine's tokenizer must be this one. All must outlive the sampler.
  RolloutSampler(infer::Engine& engine, const text::Tokenizer& tokenizer, const text::ChatTemplate& chat_template,
                 RolloutOptions options);
  struct Ask {
    const gym::NamedEnvironment* environment;
    gym::Problem problem;
    uint64_t problem_seed, seed;  // seed: of the answers
  };
  std::vector<RolloutGroup> run(std::vector<Ask> asks, int64_t version);  // in their order
  std::vector<int32_t> prompt_of(const gym::Problem& p) const;
  bool fits(const gym::Problem& p) const;  // with at least one token of an answer, into max_length

 private:
  Rollout judged(const RolloutGroup& group, infer::Generated answer) const;
  infer::Engine& engine_;
  const text::Tokenizer& tokenizer_;
  const text::ChatTemplate& chat_template_;
  RolloutOptions o_;
};

}  // namespace quern::rl
