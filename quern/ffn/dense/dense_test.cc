// The dense feed-forward, gated and plain, with and without biases: finite differences.
#include <gtest/gtest.h>

#include <cmath>

#include "quern/ffn/dense/dense_ffn.h"
#include "quern/nn/check_module.h"

namespace quern::ffn {
namespace {

TEST(DenseFfn, FiniteDifferencesGatedAndPlain) {
  for (bool gated : {true, false})
    for (bool bias : {true, false}) {
      DenseFfn m({.width = 5, .hidden = 7, .act = kernels::Activation::gelu, .gated = gated, .bias = bias});
      grad::NamedParameters p = nn::randomized(m, 3);
      grad::GradCheck c = grad::grad_check(
          [&](grad::Tape& t, const std::vector<grad::Var>& in) {
            DepthCarry carry;
            return std::vector<grad::Var>{m.forward(t, in[0], carry)};
          },
          {grad::random_normal({4, 5}, 1)}, p);
      EXPECT_LT(c.worst, 2e-8) << c.where;
    }
}

TEST(DenseFfn, PackedEqualsPlain) {
  for (bool gated : {true, false}) {
    DenseFfn m({.width = 33, .hidden = 70, .gated = gated, .bias = true}), half(m);
    Tensor x = grad::random_normal({9, 33}, 1, DType::f32);
    auto forward = [&](DenseFfn& f) {
      grad::Tape t(grad::Tape::inference);
      DepthCarry carry;
      return f.forward(t, grad::Var(x), carry).value;
    };
    for (DenseFfn* f : {&m, &half}) {
      nn::randomized(*f, 3);
      f->visit("", [](const std::string&, grad::Parameter& p) { p.value = p.value.to(DType::f32); });
    }
    Tensor plain = forward(m);
    m.pack(DType::f32), half.pack(DType::bf16);
    Tensor packed = forward(m), packed_half = forward(half);
    double error = 0, norm = 0;
    for (int64_t i = 0; i < plain.size(); ++i) {
      EXPECT_NEAR(packed.item(i), plain.item(i), 1e-4);
      error += std::pow(packed_half.item(i) - plain.item(i), 2), norm += std::pow(plain.item(i), 2);
    }
    EXPECT_LT(std::sqrt(error / norm), 0.01);  // weights, inputs and inner rows each rounded to 8 bits: 2⁻⁹ and a bit
    EXPECT_GT(error, 0);
  }
}

}  // namespace
}  // namespace quern::ffn
