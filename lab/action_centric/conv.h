// 3×3 convolution with stride 2, zero padding and ReLU; its gradients, and Adam. Images are row-major with channels
// innermost, [batch, side, side, channels], so that one matrix product of the gathered patches [batch·out²,
// 9·channels] with W [channels out, 9·channels] computes all of it.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "lab/action_centric/weight_gradients.h"

namespace quern::lab {

template <class T>
class HalvingConv {
 public:
  HalvingConv(int64_t side, int64_t channels_in, int64_t channels_out, uint64_t seed);
  int64_t side_out() const { return (side_ + 1) / 2; }
  int64_t inputs() const { return side_ * side_ * in_; }
  int64_t outputs() const { return side_out() * side_out() * out_; }
  std::span<const T> forward(std::span<const T> x, int64_t batch);
  // Gradient of the inputs of the last forward. Adds to the weights' unless they are frozen.
  std::span<const T> backward(std::span<const T> gy, WeightGradients weights);
  void step(double lr);  // Adam, and gradients to zero
  std::vector<std::span<T>> weights() { return {w_, b_}; }
  std::vector<std::span<T>> gradients() { return {gw_, gb_}; }

 private:
  // f(where in a patch's row, where in the picture) for every run of channels that lies inside the picture.
  template <class F>
  void each_patch(int64_t batch, F&& f) const;
  int64_t side_, in_, out_, batch_ = 0, steps_ = 0;
  std::vector<T> w_, b_, gw_, gb_;
  std::vector<double> m_, v_;  // of w and b together
  std::vector<T> patches_, y_, gy_, gx_;
};

}  // namespace quern::lab
