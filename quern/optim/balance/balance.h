// Expert load balancing without an auxiliary loss, as in ZAYA: a controller updates the router's balancing biases.
// With f the share of tokens each class received, the pseudo-gradient f − 1/E goes through AdamW without decay, so
// that an overloaded expert's bias falls. The router puts the classes' counts into the parameter's grad; only their
// ratios matter, so sums and means over micro-batches and ranks serve alike. E counts the skip class too: 17 classes,
// a target of 1/17 each. The learning rate is the controller's own, not the schedule's. Rates and betas of the
// published run are not known; these defaults are those of the public training code.
#pragma once
#include "quern/optim/optimizer.h"

namespace quern::optim {

struct BalanceOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  template <class V>
  void visit(V& v) {
    v("lr", lr, "learning rate of the biases; the schedule does not change it");
    v("beta1", beta1, "decay of the first moment");
    v("beta2", beta2, "decay of the second moment");
    v("eps", eps, "added to the root of the second moment");
  }
};

class BiasBalancer : public Optimizer {
 public:
  explicit BiasBalancer(BalanceOptions options = {});
  std::vector<OptimizerPart> state(const std::string& name, const grad::Parameter& p) const override;
  void step(std::span<OptimizerSlot* const> slots, const OptimizerStep& s) const override;

 private:
  BalanceOptions o_;
};

}  // namespace quern::optim
