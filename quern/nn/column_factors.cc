#include "quern/nn/column_factors.h"

#include <algorithm>

#include "quern/nn/dispatch.h"

namespace quern::nn {

ColumnFactors::ColumnFactors(const std::vector<std::pair<int64_t, double>>& runs) {
  if (std::all_of(runs.begin(), runs.end(), [](const auto& r) { return r.second == 1; })) return;
  for (const auto& [n, factor] : runs) values_.insert(values_.end(), static_cast<size_t>(n), factor);
  factors_ = grad::Parameter({static_cast<int64_t>(values_.size())}, grad::Init::constant(1));
  factors_.trainable = false;
}

grad::Var ColumnFactors::apply(grad::Tape& tape, const grad::Var& x_TD) {
  if (!factors_.defined()) return x_TD;
  if (!factors_.value.defined() || factors_.value.dtype() != x_TD.dtype()) {
    factors_.value = Tensor::empty(factors_.shape, x_TD.dtype());
    with_float(x_TD.dtype(), [&]<class T>() {
      std::transform(values_.begin(), values_.end(), factors_.value.data<T>(),
                     [](double f) { return static_cast<T>(f); });
    });
  }
  return mul_columns(tape, x_TD, factors_);
}

}  // namespace quern::nn
