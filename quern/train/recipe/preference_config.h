// Learning from pairs of answers, a preferred and another: the settings of a recipe's phase (`preference`), and flags of
// `quern finetune`. What the losses compute: train/preference/preference_loss.h.
#pragma once
#include <string>

#include "quern/base/setting.h"

namespace quern::train {

struct PreferenceConfig {
  std::string loss, reference = "start";
  double beta = 0.1, label_smoothing = 0;
  template <class V>
  void visit(V& v) {
    v("loss", loss,
      "learn from pairs of answers: `dpo`, `ipo`, or `robust` (DPO that allows for a known share of wrong labels)",
      {.value = "NAME", .flag = "--preference"});
    v("beta", beta, "how strongly the model is held to the reference; larger stays closer",
      {.range = Bounds::above(0)});
    v("label_smoothing", label_smoothing, "share of the pairs that may be labeled the wrong way, for dpo and robust",
      {.range = Bounds::at_least(0).up_to(0.49)});
    v("reference", reference,
      "what the model is held to: `start`, itself as the phase begins, or `base`, the frozen model without its "
      "adapter",
      {.value = "NAME"});
  }
  bool on() const { return !loss.empty(); }
};
void check(const PreferenceConfig& c, const std::string& where);  // throws Error naming the field

}  // namespace quern::train
