// quern rl RECIPE | parity: reinforcement learning, and how far sampling and training are apart.
#include <algorithm>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/menu.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/models/shipped_models.h"
#include "apps/quern/train/train_recipe.h"
#include "quern/models/checkpoint.h"
#include "quern/nn/builtin_registry.h"
#include "quern/rl/parity.h"
#include "quern/train/recipe/recipe.h"

namespace quern::cli {
namespace {

Json parity_json(const rl::Parity& p) {
  Json j = Json::object();
  j.set("tokens", p.tokens), j.set("max_abs_delta_logprob", p.max_abs_delta_logprob), j.set("kl", p.kl);
  j.set("pearson", p.pearson);
  return j;
}

void print_parity(const char* name, const rl::Parity& p) {
  fmt::print("{:<22} {:>7} tokens  largest difference {:<9.3g} KL {:<9.3g} correlation {:.6f}\n", name, p.tokens,
             p.max_abs_delta_logprob, p.kl, p.pearson);
}

int parity(Words args) {
  std::string model, dtype = "bf16";
  rl::ParityOptions o;
  int64_t seed = 0;
  bool json = false;
  Args a("rl parity", "compare the policy that samples with the policy that learns, token by token");
  a.positional("MODEL", model)
      .flag("--tokens N", o.tokens, "minimum number of sampled tokens to compare")
      .flag("--dtype TYPE", dtype, "type of the large matrix multiplications on both sides: bf16 or f32")
      .flag("--exact", o.exact,
            "exact mode: sample in company, and score every answer alone with the engine's own forward pass")
      .settings(o)
      .flag("--environment NAME", o.environment, "environment of the gym that poses the problems")
      .flag("--seed N", seed, "random seed of problems and answers")
      .json(json)
      .note(
          "Without --exact the answers are scored by one pass over each text, as training reads it, once with the\n"
          "routers' own choices of experts and once with those recorded while sampling (router replay).");
  if (!a.parse(args)) return 0;
  if (dtype != "bf16" && dtype != "f32")
    throw UsageError(fmt::format("quern rl parity: --dtype '{}': expected bf16 or f32", dtype));
  if (o.tokens < 1 || o.company < 1)
    throw UsageError("quern rl parity: expected --tokens and --max-seqs of at least 1");
  o.seed = static_cast<uint64_t>(seed);
  o.format = dtype == "bf16" ? kernels::WeightFormat::bf16 : kernels::WeightFormat::f32;
  const std::string dir = model_folder(model);
  const auto m = models::load_model(nn::builtin_registry(), dir, {.dtype = DType::f32, .pack = false});
  const text::Tokenizer tokenizer = models::load_tokenizer(dir);
  o.stop_ids = models::load_generation_config(dir).eos_token_id;
  const rl::ParityReport r =
      rl::measure_parity(nn::builtin_registry(), *m, tokenizer, models::load_chat_template(dir, m->family()), o);
  if (json) {
    Json j = parity_json(o.exact ? r.exact : r.own);
    j.set("exact", o.exact), j.set("dtype", dtype);
    j.set("share_routes_differ", r.share_routes_differ);
    if (!o.exact) j.set("replayed", parity_json(r.replayed));
    fmt::print("{}\n", j.dump());
  } else {
    if (o.exact) print_parity("exact, alone", r.exact);
    if (!o.exact) print_parity("own routes", r.own), print_parity("replayed routes", r.replayed);
    fmt::print("{:.3g} % of the choices of experts differ\n", 100 * r.share_routes_differ);
  }
  return 0;
}

int learn(Words args) {
  if (!args.empty() && args[0][0] != '-') {
    const train::Recipe recipe = train::read_recipe(args[0]);
    if (std::none_of(recipe.phase.begin(), recipe.phase.end(), [](const auto& p) { return p.rl.on(); }))
      throw UsageError(fmt::format("quern rl: no phase of {} names rl.environments or rl.tasks; quern train runs it", args[0]));
  }
  return train_recipe("rl run", "reinforcement learning from a recipe", args);
}

constexpr MenuItem kItems[] = {
    {"run", "RECIPE [--out DIR] [--resume]",
     "train from a recipe with reinforcement-learning phases; `run` may be left out", learn},
    {"parity", "MODEL", "compare the policy that samples with the policy that learns, token by token", parity},
};

}  // namespace

int cmd_rl(Words args) {
  const bool recipe = !args.empty() && (args[0].ends_with(".toml") || args[0].find('/') != args[0].npos);
  return recipe ? learn(args) : choose("rl", "reinforcement learning with verifiable rewards", kItems, args);
}

}  // namespace quern::cli
