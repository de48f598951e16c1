// The dense feed-forward, gated and plain, with and without biases: finite differences.
#include <gtest/gtest.h>

#include "quern/ffn/dense/dense_ffn.h"
#include "quern/nn/check_module.h"

namespace quern {
namespace {

TEST(DenseFfn, FiniteDifferencesGatedAndPlain) {
  for (bool gated : {true, false})
    for (bool bias : {true, false}) {
      DenseFfn m({.width = 5, .hidden = 7, .act = kernels::Activation::gelu, .gated = gated, .bias = bias});
      NamedParameters p = randomised(m, 3);
      GradCheck c = grad_check(
          [&](Tape& t, const std::vector<Var>& in) {
            DepthCarry carry;
            return std::vector<Var>{m.forward(t, in[0], carry)};
          },
          {random_normal({4, 5}, 1)}, p);
      EXPECT_LT(c.worst, 2e-8) << c.where;
    }
}

}  // namespace
}  // namespace quern
