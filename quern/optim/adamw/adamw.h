// AdamW (Loshchilov & Hutter): m = β1 m + (1−β1) g;  v = β2 v + (1−β2) g²;
//   w ← w − lr·( m̂ / (√v̂ + ε) + decay·w ),  m̂ = m/(1−β1ᵗ), v̂ = v/(1−β2ᵗ)
// State: `m`, `v` (f32, the parameter's shape) and `step` (updates of this parameter). Cost: four reads and three
// writes of 4 bytes per element; memory-bound.
#pragma once
#include "quern/optim/optimizer.h"

namespace quern::optim {

struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0.1;
  template <class V>
  void visit(V& v) {
    v("beta1", beta1, "decay of the first moment");
    v("beta2", beta2, "decay of the second moment");
    v("eps", eps, "added to the root of the second moment");
    v("weight_decay", weight_decay, "decoupled weight decay, times the learning rate");
  }
};

// The plain part of it, for whoever holds only a piece of a parameter: all four have one length; t counts from 1.
struct AdamWPiece {
  float* w;
  const float* g;
  float *m, *v;
  int64_t n;
};
void adamw_update(const AdamWPiece& p, const AdamWOptions& o, double lr, double grad_scale, int64_t t);

class AdamW : public Optimizer {
 public:
  explicit AdamW(AdamWOptions options);  // throws Error naming the field
  OptimizerRange cut() const override { return OptimizerRange::elements; }
  std::vector<OptimizerPart> state(const std::string& name, const grad::Parameter& p) const override;
  void step(std::span<OptimizerSlot* const> slots, const OptimizerStep& s) const override;

 private:
  AdamWOptions o_;
};

}  // namespace quern::optim
