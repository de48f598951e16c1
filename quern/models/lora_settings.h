// What a LoRA adapter that is being trained is like: [adapter] of a recipe, flags of `quern finetune`.
#pragma once
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "quern/base/setting.h"

namespace quern::models {

struct LoraSettings {
  int64_t rank = 0;
  double alpha = 0, dropout = 0;
  std::string scaling = "lora", base = {};
  std::vector<std::string> targets = {};
  template <class V>
  void visit(V& v) {
    v("rank", rank, "rank of the LoRA adapter; 0 trains the model's own weights", {.range = Bounds::at_least(0)});
    v("alpha", alpha, "what the adapter's products are scaled by, over the rank; 0 is twice the rank",
      {.range = Bounds::at_least(0)});
    v("scaling", scaling, "`lora` (alpha / rank) or `rslora` (alpha / √rank, for high ranks)", {.value = "NAME"});
    v("dropout", dropout, "share of the adapter's inputs that are dropped in training",
      {.range = Bounds::between(0, 0.99)});
    v("targets", targets,
      "names of the matrices that get an adapter, or the ends of their names: q_proj, self_attn.o_proj; none: every "
      "matrix but embeddings, head, routers and stacked experts",
      {.value = "NAME"});
    v("base", base, "format of the frozen weights: f32, bf16, q8 or q4 (QLoRA); left out: the run's dtype",
      {.value = "FORMAT"});
  }
  bool on() const { return rank > 0; }
  double scale() const {
    const double a = alpha > 0 ? alpha : 2 * static_cast<double>(rank), r = static_cast<double>(rank);
    return a / (scaling == "rslora" ? std::sqrt(r) : r);
  }
};
void check(const LoraSettings& s, const std::string& where);  // throws Error naming the field

}  // namespace quern::models
