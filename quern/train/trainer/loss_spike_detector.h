// LossSpikeDetector: reports a loss that is not finite, or `patience` losses in a row that are `mads` median absolute
// deviations (and `min_increase` nats) above the median of the last `window` normal ones. Its memory is saved with a
// checkpoint, so that a resumed run decides like an uninterrupted one.
#pragma once
#include <deque>
#include <optional>
#include <string>

#include "quern/train/recipe/recipe.h"

namespace quern::train {

class LossSpikeDetector {
 public:
  explicit LossSpikeDetector(SpikePolicy policy) : policy_(policy) {}
  enum class LossState { fine, high, spike, not_a_number };  // high: above the line, but not yet often enough
  LossState see(double loss);
  // Looks at a step's loss and gradient norm: why training has to go back, if it has to.
  std::optional<std::string> fault(double loss, double grad_norm);
  // For losses that are no likelihoods and may rise: only numbers that are not finite are a fault.
  static std::optional<std::string> not_finite(double loss, double grad_norm);
  double line() const;  // losses above it are high; infinite until half a window is full

  void forget() { losses_.clear(), high_ = 0; }  // what comes next is another matter

  Json save() const;
  void load(const Json& j);

 private:
  SpikePolicy policy_;
  std::deque<double> losses_;
  int64_t high_ = 0;
};

}  // namespace quern::train
