// Runs of the recipe of tiny_rl.h, and the shipped model with what belongs to it.
#pragma once
#include <algorithm>
#include <map>

#include "quern/comm/in_process.h"
#include "quern/models/checkpoint.h"
#include "quern/rl/rollout_source.h"
#include "quern/train/recipe/recipe.h"
#include "quern/train/trainer/trainer.h"
#include "tests/rl/tiny_rl.h"
#include "tests/train/tiny_run.h"

namespace quern::tiny {

inline train::Recipe recipe(const Folder& f, const std::string& rl = "", const std::string& more = "") {
  return train::read_recipe(write_rl_recipe(f.path, rl, more));
}

struct Outcome {
  std::vector<train::StepMetrics> steps;
  std::map<std::string, Tensor> weights;
};

// Steps up to `until` of the recipe; from the newest checkpoint, if there is one. What rank 0 has of them.
inline Outcome run(const train::Recipe& r, const std::filesystem::path& out, int64_t until, int ranks = 1) {
  Outcome done;
  const bool resume = std::filesystem::exists(out);
  comm::run_ranks(ranks, [&](comm::Communicator& c) {
    train::TrainOptions o{.out = out, .resume = resume};
    train::Trainer t(r, nn::builtin_registry(), c, rl::with_rollouts(o, r, nn::builtin_registry()));
    std::vector<train::StepMetrics> steps;
    while (t.finished() < until && t.step()) steps.push_back(t.last());
    t.checkpoint();
    if (c.rank() > 0) return;
    done.steps = std::move(steps);
    t.model().visit("", [&](const std::string& name, grad::Parameter& p) { done.weights[name] = p.value.clone(); });
  });
  return done;
}

inline bool equal(const Outcome& a, const Outcome& b) {
  return std::ranges::equal(a.weights, b.weights, [](const auto& x, const auto& y) {
    return x.first == y.first && std::ranges::equal(x.second.template span<float>(), y.second.template span<float>());
  });
}

struct Shipped {
  std::unique_ptr<models::Model> model =
      models::load_model(nn::builtin_registry(), std::filesystem::path(QUERN_SOURCE_DIR) / "models/zaya-nano",
                         {.dtype = DType::f32, .pack = false});
  text::Tokenizer tokenizer = models::load_tokenizer(std::filesystem::path(QUERN_SOURCE_DIR) / "models/zaya-nano");
  text::ChatTemplate chat_template =
      models::load_chat_template(std::filesystem::path(QUERN_SOURCE_DIR) / "models/zaya-nano", model->family());
  std::vector<int64_t> stop_ids =
      models::load_generation_config(std::filesystem::path(QUERN_SOURCE_DIR) / "models/zaya-nano").eos_token_id;
};

}  // namespace quern::tiny
