// Activations: tabulated values, gradients, f32 accuracy over the whole range, every instruction set against the
// reference.
#include <algorithm>

#include "quern/kernels/activation/activation.h"

#include "quern/base/error.h"
#include "quern/kernels/test_util.h"

namespace quern::kernels {
namespace {

constexpr Activation kAll[] = {Activation::silu, Activation::gelu, Activation::gelu_tanh, Activation::relu};

TEST(Activation, Names) {
  EXPECT_EQ(parse_activation("swish"), Activation::silu);
  EXPECT_EQ(parse_activation("gelu"), Activation::gelu);
  EXPECT_EQ(parse_activation("gelu_pytorch_tanh"), Activation::gelu_tanh);
  EXPECT_THROW(parse_activation("sine"), Error);
}

TEST(Activation, ValuesAtOne) {  // σ(1), Φ(1) and the tanh form to ten digits (mpmath)
  const double want[] = {0.7310585786, 0.8413447461, 0.8411919906, 1};
  each_isa([&] {
    for (size_t i = 0; i < 4; ++i) {
      Rows<float> x(1, 1), y(1, 1);
      x.data = {1};
      activate<float>(kAll[i], x.in(), y.view());
      EXPECT_NEAR(y.data[0], want[i], 2e-7) << i;
    }
  });
}

TEST(Activation, Gradients) {
  for (Activation a : kAll) {
    Rows<double> x = Rows<double>::random(2, 5, 1, 0, 3), g = Rows<double>::random(2, 5, 2), y(2, 5), gx(2, 5);
    auto loss = [&] {
      activate<double>(a, x.in(), y.view());
      return weighted_sum(y, g);
    };
    activate_backward<double>(a, x.in(), g.in(), gx.view());
    check_gradient(loss, x.data, gx.data);

    Rows<double> gu = Rows<double>::random(2, 10, 3, 0, 3), g_gu(2, 10);
    auto gated_loss = [&] {
      gated<double>(a, gu.in(), y.view());
      return weighted_sum(y, g);
    };
    gated_backward<double>(a, gu.in(), g.in(), g_gu.view());
    check_gradient(gated_loss, gu.data, g_gu.data);
  }
}

// Relative to the value itself, also deep in the left tail, where a formula 1 − erf would have no digits left.
TEST(Activation, RelativeAccuracy) {
  constexpr int64_t kPoints = 20001;
  Rows<float> x(1, kPoints), y(1, kPoints);
  Rows<double> xd(1, kPoints), yd(1, kPoints);
  for (int64_t i = 0; i < kPoints; ++i) {
    x.data[static_cast<size_t>(i)] = static_cast<float>(-12.5 + 25.0 * static_cast<double>(i) / (kPoints - 1));
    xd.data[static_cast<size_t>(i)] = static_cast<double>(x.data[static_cast<size_t>(i)]);
  }
  each_isa([&] {
    for (Activation a : kAll) {
      activate<float>(a, x.in(), y.view());
      activate<double>(a, xd.in(), yd.view());
      double worst = 0;
      for (size_t i = 0; i < static_cast<size_t>(kPoints); ++i)
        if (std::abs(yd.data[i]) > 1e-30)
          worst = std::max(worst, std::abs(static_cast<double>(y.data[i]) / yd.data[i] - 1));
      // tanh's inner polynomial is rounded before the exponential magnifies it by up to |2u| ≈ 69.
      EXPECT_LT(worst, a == Activation::gelu_tanh ? 1.2e-5 : 1e-6) << static_cast<int>(a);
    }
  });
}

TEST(Activation, Extremes) {
  each_isa([] {
    Rows<float> x(1, 4), y(1, 4);
    x.data = {-3e38f, -200, 200, 3e18f};
    for (Activation a : kAll) {
      activate<float>(a, x.in(), y.view());
      EXPECT_EQ(y.data[0], 0) << static_cast<int>(a);
      EXPECT_EQ(y.data[1], 0) << static_cast<int>(a);
      EXPECT_EQ(y.data[2], 200) << static_cast<int>(a);
      EXPECT_EQ(y.data[3], 3e18f) << static_cast<int>(a);
    }
  });
}

TEST(Activation, AllIsasAgree) {
  for (auto [rows, width] : {std::array<int64_t, 2>{1, 1}, {3, 7}, {2, 16}, {40, 533}})
    for (Activation a : kAll)
      same_on_all_isas(
          [&]<class T>(T) {
            using R = Rows<T>;
            R x = R::random(rows, width, 1, 3, 4), g = R::random(rows, width, 2, 1), y(rows, width, 2),
              gx(rows, width, 4);
            R gu = R::random(rows, 2 * width, 3, 5, 4), g_gu(rows, 2 * width, 1);
            Outputs o;
            activate<T>(a, x.in(), y.view());
            activate_backward<T>(a, x.in(), g.in(), gx.view());
            o.add(y), o.add(gx);
            gated<T>(a, gu.in(), y.view());
            gated_backward<T>(a, gu.in(), g.in(), g_gu.view());
            o.add(y), o.add(g_gu);
            return o;
          },
          3e-6);
}

}  // namespace
}  // namespace quern::kernels
