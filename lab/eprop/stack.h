// A stack of leaky tanh layers with a softmax readout, in double precision. Layer l of L, step t:
//   a_t = W h_{t−1} + F x_t + b,   h_t = (1 − α) h_{t−1} + α tanh a_t,   ψ_t = 1 − tanh² a_t,   h_{−1} = 0
// x of the first layer is the input, of every other one h_t of the layer below; the top layer is read by V h + c where
// an episode asks for an answer. Loss: cross-entropy, summed over the asked steps, mean over the batch. Shapes: n
// units, D inputs, C classes, T steps, B episodes; the batch is innermost. Layers may spike instead: spiking.h.
#pragma once
#include <cstdint>
#include <vector>

#include "lab/eprop/product.h"
#include "quern/base/rng.h"

namespace quern::lab {

// Units that fire, a share of which tire of it.
struct SpikingUnits {
  bool on = false;
  double threshold = 0.6, damping = 0.3;  // θ; height of the pseudo-derivative
  double adaptive = 0.5;                  // share of a layer's units whose threshold rises as they fire
  double adapt_steps = 100, adapt_strength = 1.7;
  double readout_keep = 0.9;  // what the readout's trace keeps from step to step
  template <class V>
  void visit(V& v) {
    v("spiking", on, "use adaptive spiking units");
    v("adaptive", adaptive, "spiking: fraction of units per layer that adapt");
    v("adapt_steps", adapt_steps, "spiking: time constant of adaptation, in steps");
    v("readout_keep", readout_keep, "spiking: decay factor of the readout trace per step");
  }
};

struct StackShape {
  int64_t inputs = 5, units = 32, classes = 2;
  std::vector<double> leak = {0.5, 0.05};  // α of each layer, the lowest first
  bool diagonal = false;                   // W has its diagonal alone
  bool biases = false;                     // b is learned; without, it is zero
  SpikingUnits spiking = {};

  int64_t layers() const { return static_cast<int64_t>(leak.size()); }
  int64_t inputs_of(int64_t layer) const { return layer == 0 ? inputs : units; }
};
void check(const StackShape& s);  // throws Error

struct LayerWeights {
  std::vector<double> w, f, b;  // [n, n], [n, inputs of the layer], [n]
};
// Weights, or a gradient in their shape.
struct StackWeights {
  std::vector<LayerWeights> layers;
  std::vector<double> v, c;  // [C, n], [C]
};
StackWeights zero_weights(const StackShape& s);
// N(0, 1/fan-in); recurrent matrices are scaled to the spectral radius given; biases are zero.
StackWeights random_weights(const StackShape& s, Rng& rng, double radius = 0.9);

// |largest eigenvalue| of an n by n matrix: |A^k|^(1/k) by squaring (Gelfand).
double spectral_radius(std::vector<double> a, int64_t n);

struct Episodes {
  int64_t steps = 0, batch = 0;
  std::vector<double> x;   // [T, D, B]
  std::vector<int> label;  // [T, B]; −1: nothing is asked at this step
};

struct StackRun {
  std::vector<std::vector<double>> h, psi;  // of each layer [T, n, B]
  std::vector<double> signal;  // [T, n, B]: ∂E_t/∂h_t of what the readout sees, this step's loss alone
  std::vector<double> dv, dc;  // the readout's gradient, exact under every rule
  double loss = 0;
  int64_t asked = 0, right = 0;
};
StackRun run_stack(const StackShape& s, const StackWeights& w, const Episodes& e);
StackRun empty_run(const StackShape& s, const StackWeights& w, const Episodes& e);  // zeros, of the right sizes
// Softmax and cross-entropy of one step, where it is asked for; seen [n, B].
void read_out(const StackShape& s, const StackWeights& w, const Episodes& e, int64_t t, ConstNumbers seen,
              StackRun& r);

// Row t of [T, rows, B].
inline ConstNumbers at_step(const std::vector<double>& x, int64_t rows, int64_t batch, int64_t t) {
  return ConstNumbers(x).subspan(static_cast<size_t>(t * rows * batch), static_cast<size_t>(rows * batch));
}

}  // namespace quern::lab
