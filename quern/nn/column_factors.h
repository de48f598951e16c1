// Constant factors of the columns of an activation, x[t, i]·f[i], which do not learn. Held in the type of what they
// multiply.
#pragma once
#include <utility>
#include <vector>

#include "quern/nn/ops.h"

namespace quern::nn {

class ColumnFactors {
 public:
  ColumnFactors() = default;
  // Runs of columns: their number, and their factor. All 1: nothing is multiplied.
  explicit ColumnFactors(const std::vector<std::pair<int64_t, double>>& runs);
  grad::Var apply(grad::Tape& tape, const grad::Var& x_TD);

 private:
  grad::Parameter factors_;  // not defined where nothing is multiplied
  std::vector<double> values_;
};

}  // namespace quern::nn
