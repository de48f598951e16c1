// Ablation study: variants of one recipe, each trained from several seeds on the same tokens, and compared by held-out
// loss. One TOML file, run by `quern study`:
//
//   name = "router"             [recipe]   a recipe's fields (recipe.h); its data sets are "train" and "held"
//   tokenizer = "../tokenizer"  [data]     synthetic problems, generated here: the same on every machine
//   seeds = 2                   [[variant]] name = "linear"
//                                           recipe.model.config.quern_router = "linear"   what differs
//
// Every run keeps its folder and result.json under `work`, so that an interrupted study resumes with the next run; a
// run whose recipe or data (or tokenizer) changed since is repeated.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/nn/registry.h"
#include "quern/train/recipe/recipe.h"

namespace quern::lab {

struct StudyData {
  int64_t documents = 20000, held = 500, seed = 1;
  std::string levels = "1-5";
  template <class V>
  void visit(V& v) {
    v("documents", documents, "texts to train on: problems with worked steps, and as many stories");
    v("held", held, "texts to compare on, none of which can be trained on");
    v("seed", seed, "random seed of the synthetic problems");
    v("levels", levels, "difficulty levels of the synthetic problems, for example 2-4");
  }
};

struct StudyVariant {
  std::string name;
  Json recipe;  // laid over the study's
  template <class V>
  void visit(V& v) {
    v("name", name, "what the result calls it");
    v("recipe", recipe, "fields of the recipe that differ");
  }
};

struct Study : train::RunFile {
  Study() { name = "study"; }
  int64_t seeds = 1;
  double even = 0.99;
  StudyData data;
  Json recipe;
  std::vector<StudyVariant> variant;
  template <class V>
  void visit(V& v) {
    v("name", name, "of the study");
    v("tokenizer", tokenizer, "folder of the tokenizer");
    v("seeds", seeds, "runs of a variant; run s has seed s");
    v("even", even, "balance of the experts' load that counts as even");
    v("data", data, "problems and stories to train on");
    v("recipe", recipe, "the recipe all variants share");
    v("variant", variant, "what is compared");
  }
};

Study read_study(const std::filesystem::path& file);  // throws Error naming file and field

// The first step (from 1) at which, as at every later one, the mean of the 16 balances that end there is at least
// `even`; balance: of every step. None when the last one is not, or there are fewer than 16.
std::optional<size_t> first_even(std::span<const double> balance, double even);

// {"parameters", "tokens", "loss": {variant: mean held-out nats a token}, "losses": {variant: [a seed]},
//  "above": {a: {b: loss of a − loss of b}}, "spread": largest distance of a run from its variant's mean,
//  "even_at": {variant: mean of the runs' first_even; absent if one has none},
//  "balance": {variant: {step: mean of the 16 steps before it}}}
Json run_study(const Study& study, const nn::Registry& registry, const std::filesystem::path& work,
               const std::function<void(const std::string&)>& say);

}  // namespace quern::lab
