#include "quern/rl/rollout_checks.h"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "quern/base/error.h"
#include "quern/models/checkpoint.h"
#include "quern/train/trainer/export.h"

namespace quern::rl {
namespace {

using train::PhaseConfig;

void check_environments(const PhaseConfig& p, const std::filesystem::path& base) {
  try {
    Environments(p.rl, base).difficulties();
  } catch (const Error& e) {
    fail("phase '{}', rl: {}", p.name, e.what());
  }
}

}  // namespace

void check_room(const PhaseConfig& p, int64_t positions, const RolloutSampler& sampler,
                const Environments& environments) {
  constexpr uint64_t kProblems = 16;
  constexpr int64_t kShortAnswer = 16;
  if (p.sequence_length > positions)
    fail("phase '{}': sequence_length {} is more than the {} positions of the model", p.name, p.sequence_length,
         positions);
  for (const std::string& name : environments.names()) {
    const gym::NamedEnvironment& e = environments.find(name);
    int64_t shortest = std::numeric_limits<int64_t>::max();
    for (uint64_t seed = 0; seed < kProblems; ++seed)
      shortest = std::min<int64_t>(shortest, std::ssize(sampler.prompt_of(e.generate(seed, 0))));
    if (shortest + std::min(kShortAnswer, p.rl.max_tokens) > p.sequence_length)
      fail("phase '{}': sequence_length {} has no room for an answer: easy problems of '{}' take at least {} tokens",
           p.name, p.sequence_length, name, shortest);
  }
}

void check_rollouts(const train::Recipe& recipe) {
  for (const PhaseConfig& p : recipe.phase) {
    if (!p.rl.on()) continue;
    check_environments(p, recipe.base);
    if (!recipe.model.from.empty() && !std::filesystem::exists(recipe.base / recipe.model.from))
      fail("model.from: '{}' is neither a folder (seen from the recipe's) nor a model that is shipped",
           recipe.model.from);
    const std::filesystem::path tokenizer = train::tokenizer_source(recipe);
    if (tokenizer.empty())
      fail("phase '{}': reinforcement learning needs a tokenizer: name one, or a model.from that has one", p.name);
    if (models::load_generation_config(tokenizer).eos_token_id.empty())
      fail("phase '{}': {} names no token that ends an answer (eos_token_id in generation_config.json)", p.name,
           tokenizer.string());
    if (p.rl.loss.kl > 0 &&
        (recipe.model.from.empty() || recipe.model.fresh || !recipe.model.config.is_null() || !p.config.is_null()))
      fail("phase '{}', rl.loss.kl: the model to stay close to is model.from as it is, without fresh or config",
           p.name);
  }
}

}  // namespace quern::rl
