// Marginal cost of one more token in a decode step, as a fraction of that step. Small where weights are read once for
// all tokens; large where each token needs its own experts or compute is the bottleneck. Fitted online: weighted least
// squares of step time over tokens, recent steps weighing more; a constant until batch sizes have varied.
#pragma once
#include <cstdint>

namespace quern {

class RowPrice {
 public:
  static constexpr double kGuess = 0.125, kLeast = 0.02, kMost = 1;

  void took(int64_t rows, double seconds);
  // Of one more than `rows`.
  double beside(int64_t rows) const;
  double seconds(int64_t rows) const;  // of a step of so many; 0 = nothing is known

 private:
  double weight_ = 0, rows_ = 0, seconds_ = 0, rows2_ = 0, both_ = 0;  // sums
  double first_ = 0, each_ = 0;                                        // of the last line worth the name
};

}  // namespace quern
