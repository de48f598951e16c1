// The controller of ZAYA's balancing biases (no auxiliary loss): with f the fraction of tokens each class got, the
// pseudo-gradient f − 1/E goes through AdamW without decay, so that an overloaded expert's bias falls.
// Rates and betas of the published run are not known; these defaults are those of the public training code.
#pragma once
#include <cstdint>
#include <span>

#include "quern/tensor/tensor.h"

namespace quern {

struct BalanceOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
};

class BiasBalancer {
 public:
  explicit BiasBalancer(Tensor biases,
                        BalanceOptions options = {});  // shares the buffer: updates are seen by the router
  void update(std::span<const int64_t> counts);        // tokens per class of the step, skip class included

 private:
  Tensor biases_;
  BalanceOptions o_;
  std::vector<double> m_, v_;
  int64_t t_ = 0;
};

}  // namespace quern
