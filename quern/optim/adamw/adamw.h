// AdamW (Loshchilov & Hutter): m = β1 m + (1−β1) g;  v = β2 v + (1−β2) g²;
//   w ← w − lr·( m̂ / (√v̂ + ε) + decay·w ),  m̂ = m/(1−β1ᵗ), v̂ = v/(1−β2ᵗ). Decay falls on tensors of rank ≥ 2 only.
// State: two f32 copies of every parameter. A parameter without a gradient this step (an expert no token chose) is
// left alone, its moments too.
#pragma once
#include <vector>

#include "quern/nn/module.h"

namespace quern {

struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0.1;
};

class AdamW {
 public:
  AdamW(Module& model, AdamWOptions options);
  void step(double lr);

 private:
  struct Slot {
    Parameter* p;
    Tensor m, v;
    int64_t t = 0;
  };
  AdamWOptions o_;
  std::vector<Slot> slots_;
};

// Scales all gradients so that their joint L2 norm is at most `limit`; returns the norm before.
double clip_grad_norm(Module& model, double limit);

}  // namespace quern
