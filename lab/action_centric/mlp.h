// Multilayer perceptron: y = W·x + b with ReLU between layers, gradients, and Adam. Rows of a batch are contiguous.
// float for training, double for finite differences.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "lab/action_centric/weight_gradients.h"

namespace quern::lab {

template <class T>
class Mlp {
 public:
  Mlp(std::vector<int64_t> widths, uint64_t seed);  // weights normal, of variance 2 / inputs
  int64_t inputs() const { return layers_.front().in; }
  int64_t outputs() const { return layers_.back().out; }
  // [batch, inputs] → [batch, outputs]; what backward needs is kept until the next call.
  std::span<const T> forward(std::span<const T> x, int64_t batch);
  // Gradient of the inputs of the last forward. Adds to the weights' unless they are frozen.
  std::span<const T> backward(std::span<const T> gy, WeightGradients weights = WeightGradients::add);
  void step(double lr);  // Adam, and gradients to zero
  std::vector<std::span<T>> weights();
  std::vector<std::span<T>> gradients();

 private:
  struct Layer {
    int64_t in, out;
    std::vector<T> w, b, gw, gb;  // w [out, in]
    std::vector<double> m, v;     // of w and b together
    std::vector<T> x, y, gx;      // of the last batch
  };
  std::vector<Layer> layers_;
  std::vector<T> gy_;
  int64_t batch_ = 0, steps_ = 0;
};

}  // namespace quern::lab
