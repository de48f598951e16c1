// Marginal cost of one more token in a decode step, as a fraction of that step. Small where weights are read once for
// all tokens; large where each token needs its own experts or compute is the bottleneck. Fitted online: weighted least
// squares of step time over tokens, recent steps weighing more; a constant until batch sizes have varied.
#pragma once
#include <cstdint>

namespace quern::infer {

class BatchCostModel {
 public:
  static constexpr double kDefault = 0.125, kMin = 0.02, kMax = 1;

  void record(int64_t rows, double seconds);
  // Cost of one more token than `rows`, as a fraction of a step.
  double one_more_than(int64_t rows) const;
  double seconds(int64_t rows) const;  // of a step of that size; 0 = not known yet

 private:
  double weight_ = 0, rows_ = 0, seconds_ = 0, rows2_ = 0, both_ = 0;  // sums
  double first_ = 0, each_ = 0;                                        // of the last valid fit
};

}  // namespace quern::infer
