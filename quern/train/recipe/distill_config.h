// Learning from a larger model: the settings of a recipe's phase (`distill`). What the losses compute:
// train/distill/distill_loss.h.
#pragma once
#include <string>

#include "quern/base/setting.h"

namespace quern::train {

struct DistillConfig {
  std::string teacher, direction = "forward", format = "bf16", store = {};
  double weight = 1, temperature = 1;
  int64_t top = 0;
  template <class V>
  void visit(V& v) {
    v("teacher", teacher, "learn from this model and the data: a model folder with the same tokenizer",
      {.value = "DIR"});
    v("direction", direction,
      "`forward`, KL(teacher, student): cover all that the teacher finds likely; `reverse`, KL(student, teacher): "
      "say nothing that it finds unlikely",
      {.value = "NAME"});
    v("weight", weight, "share of the divergence in the loss; the rest is the cross entropy of the data",
      {.range = Bounds::above(0).up_to(1)});
    v("temperature", temperature, "both models' logits are divided by it; the divergence is multiplied by its square",
      {.range = Bounds::above(0)});
    v("top", top,
      "compare the teacher's likeliest tokens of this number one by one, and all others as one; 0 compares every "
      "token",
      {.range = Bounds::at_least(0)});
    v("format", format, "of the teacher's weights in memory: f32, bf16, q8 or q4; a quantized folder stays as it is",
      {.value = "FORMAT"});
    v("store", store,
      "folder of the teacher's `top` likeliest tokens at every learned one, computed once beforehand "
      "(docs/training.md); training reads it and needs no teacher in memory",
      {.value = "DIR"});
  }
  bool on() const { return !teacher.empty(); }
};
void check(const DistillConfig& c, const std::string& where);  // throws Error naming the field

}  // namespace quern::train
