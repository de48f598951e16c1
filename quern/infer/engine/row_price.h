// What one more row costs a step that answers, as a share of the step without it: where weights are read once for all
// rows it is little, where every row brings its own experts, or arithmetic is the bound, it is much. Learned from the
// steps themselves: the line through seconds over rows, late steps weighing more. Until steps have differed in their
// rows it is a guess.
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
