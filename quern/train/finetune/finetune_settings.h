// Settings of `quern finetune`, and the recipe that they come to.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "quern/base/setting.h"
#include "quern/train/recipe/recipe.h"

namespace quern::train {

struct FinetuneSettings {
  std::string out, eval, dtype = "bf16";
  double eval_share = 0.05, lr = 0;
  int64_t epochs = 3, steps = 0, batch_size = 8, sequence_length = 0, evaluations = 10, patience = 3, samples = 2,
          seed = 0;
  bool activation_checkpointing = false, plain = false, skip_bad = false, resume = false;
  template <class V>
  void visit(V& v) {
    v("out", out, "folder of the adapter", {.value = "DIR", .shown_default = "runs/MODEL-DATA"});
    v("eval", eval, "file with held-out rows, instead of a share of the data", {.value = "FILE"});
    v("eval_share", eval_share, "share of the rows that is held out", {.range = Bounds::above(0).up_to(0.5)});
    v("epochs", epochs, "passes over the data", {.range = Bounds::at_least(1)});
    v("steps", steps, "length of training in optimizer steps, instead of epochs; 0 goes by epochs",
      {.range = Bounds::at_least(0)});
    v("batch_size", batch_size, "sequences per step; of pairs of answers, pairs", {.range = Bounds::at_least(1)});
    v("sequence_length", sequence_length,
      "tokens per sequence, shared by several short rows; 0 is the longest row, at most 1024",
      {.range = Bounds::at_least(0)});
    v("lr", lr, "peak learning rate; 0 goes by the model's width, and is a tenth of that for preferences",
      {.range = Bounds::at_least(0)});
    v("dtype", dtype, "type of large matrix multiplications: bf16 or f32", {.value = "TYPE"});
    v("activation_checkpointing", activation_checkpointing,
      "recompute the activations inside each layer in the backward pass: less memory, a third more time");
    v("evaluations", evaluations, "evaluations on the held-out rows while it trains", {.range = Bounds::at_least(1)});
    v("patience", patience, "early stopping: evaluations in a row that may be no better than the best; 0 never stops",
      {.range = Bounds::at_least(0)});
    v("samples", samples, "held-out questions that are answered after each evaluation",
      {.range = Bounds::at_least(0)});
    v("plain", plain, "prompt and completion rows are plain text, not a chat");
    v("skip_bad", skip_bad, "leave out rows that cannot be used instead of stopping");
    v("seed", seed, "random seed of the adapter, the split and the order");
    v("resume", resume, "continue a fine-tuning from its newest checkpoint");
  }
};

// What is known once the rows are tokenized.
struct FinetuneShape {
  std::filesystem::path model, data;  // data / "train", data / "held-out"
  int64_t sequence_length = 0;
  int64_t sequences = 0, held_out = 0;  // packed, of each set; or pairs
  int64_t width = 0;                    // of the model's residual stream
};

// A rate for adapters by width: a rule of thumb (5e-4 at 2048, more for narrower models), tried at 256 only.
double finetune_rate(int64_t width);
struct FinetuneMethod {
  models::LoraSettings adapter;
  PreferenceConfig preference = {};
};
Recipe finetune_recipe(const FinetuneSettings& settings, const FinetuneMethod& method, const FinetuneShape& shape);

}  // namespace quern::train
