// Least squares from five exponentially decaying sums, so that recording a step takes a few operations.
#include "quern/infer/speculation/batch_cost_model.h"

#include <algorithm>

namespace quern::infer {

void BatchCostModel::record(int64_t rows, double seconds) {
  constexpr double kMemory = 0.98;
  const auto r = static_cast<double>(rows);
  for (double* sum : {&weight_, &rows_, &seconds_, &rows2_, &both_}) *sum *= kMemory;
  weight_ += 1, rows_ += r, seconds_ += seconds, rows2_ += r * r, both_ += r * seconds;
  const double mean = rows_ / weight_, spread = rows2_ / weight_ - mean * mean;
  if (weight_ < 8 || spread < 0.05) return;
  each_ = (both_ / weight_ - mean * seconds_ / weight_) / spread;
  first_ = seconds_ / weight_ - each_ * mean;
}

double BatchCostModel::one_more_than(int64_t rows) const {
  const double step = first_ + each_ * static_cast<double>(rows);
  if (first_ == 0 && each_ == 0) return kDefault;
  return step > 0 ? std::clamp(each_ / step, kMin, kMax) : kMax;
}

double BatchCostModel::seconds(int64_t rows) const {
  if (weight_ == 0) return 0;
  const double step = first_ + each_ * static_cast<double>(rows);
  return step > 0 ? step : seconds_ / weight_;
}

}  // namespace quern::infer
