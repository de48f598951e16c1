// The proofs every mixer owes, on the smallest one: finite differences, splits, documents apart, and values worked out
// by hand.
#include <gtest/gtest.h>

#include "quern/nn/check_module.h"
#include "tests/sample/guide_blocks.h"
#include "tests/sample/mixers/lag/lag_mixer.h"

namespace quern::mixers {
namespace {

TEST(Lag, FiniteDifferences) {
  LagMixer m({.width = 3});
  grad::NamedParameters p = nn::randomized(m, 1);
  Batch documents = Batch::documents({4, 1, 3});
  grad::GradCheck c = grad::grad_check(
      [&](grad::Tape& t, const std::vector<grad::Var>& in) {
        return std::vector<grad::Var>{m.forward(t, in[0], documents, 0)};
      },
      {grad::random_normal({8, 3}, 2)}, p);
  EXPECT_LT(c.worst, 1e-8) << c.where;
}

TEST(Lag, ByHandWholeSplitAndPacked) {
  LagMixer m({.width = 2});
  m.visit("", [](const std::string&, grad::Parameter& p) { p.value = Tensor::of<float>({2}, {2, -1}); });
  Tensor x = Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  grad::Tape t(grad::Tape::inference);
  auto values = [](const Tensor& y) { return std::vector<float>(y.span<float>().begin(), y.span<float>().end()); };
  EXPECT_EQ(values(m.forward(t, grad::Var(x), Batch::single(3), 0).value), (std::vector<float>{0, 0, 2, -2, 6, -4}));
  EXPECT_EQ(values(m.forward(t, grad::Var(x), Batch::documents({2, 1}), 0).value),
            (std::vector<float>{0, 0, 2, -2, 0, 0}));
  SequenceState state({{0, 0, m.state_spec(DType::f32)}});
  std::vector<float> split;
  for (int64_t i = 0; i < 3; ++i) {
    Tensor y = m.forward(t, grad::Var(x.narrow(0, i, 1).clone()), Batch::resume({&state}, {1}), 0).value;
    split.insert(split.end(), y.span<float>().begin(), y.span<float>().end());
    state.advance(1);
  }
  EXPECT_EQ(split, (std::vector<float>{0, 0, 2, -2, 6, -4}));
}

TEST(Lag, TheGuideShowsThisCode) { expect_shown("docs/adding-a-mixer.md", "mixers/lag", 3); }

}  // namespace
}  // namespace quern::mixers
