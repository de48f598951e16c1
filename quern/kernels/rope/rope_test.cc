// Rotary embedding: quarter turns by hand, the two pairings, the inverse, every instruction set against the
// reference.
#include "quern/kernels/rope/rope.h"

#include <cmath>
#include <numbers>

#include "quern/kernels/test_util.h"

namespace quern::kernels {
namespace {

TEST(Rope, InverseFrequencies) { EXPECT_EQ(rope_inv_freq(4, 10000), (std::vector<double>{1, 0.01})); }

TEST(Rope, TableIsExactFarOut) {  // 10⁶ radians: an f32 angle would be off by 0.03
  const int32_t position[] = {1000000};
  const double freq[] = {1};
  Rows<float> c(1, 1), s(1, 1);
  rope_table<float>(position, freq, c.view(), s.view());
  EXPECT_NEAR(c.data[0], 0.936752127533, 1e-6);
  EXPECT_NEAR(s.data[0], -0.349993502171, 1e-6);
}

TEST(Rope, TableOfScaledAngles) {  // a row stretched by 1, one by 3, both five times as long
  const int32_t positions[] = {2, 2};
  const double freq[] = {1, 0.5, 0.25}, stretch[] = {1, 3};
  Rows<double> c(2, 3), s(2, 3);
  rope_table<double>({.positions = positions, .inv_freq = freq, .magnitude = 5, .stretch = stretch}, c.view(),
                     s.view());
  const double angles[] = {2, 1, 0.5, 2, 3, 4.5};
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(c.data[i], 5 * std::cos(angles[i]), 1e-14);
    EXPECT_NEAR(s.data[i], 5 * std::sin(angles[i]), 1e-14);
  }
}

TEST(Rope, QuarterTurn) {
  each_isa([] {
    Rows<float> c(1, 2), s(1, 2), x(1, 6), y(1, 6);
    c.data = {0, 1}, s.data = {1, 0};  // the first pair turns by 90°, the second not at all
    x.data = {1, 2, 3, 4, 5, 6};
    rope<float>(x.heads_in(1), c.in(), s.in(), RopePairing::half, RopeTurn::forward, y.heads(1));
    EXPECT_EQ(y.data, (std::vector<float>{-3, 2, 1, 4, 5, 6}));
    rope<float>(x.heads_in(1), c.in(), s.in(), RopePairing::interleaved, RopeTurn::forward, y.heads(1));
    EXPECT_EQ(y.data, (std::vector<float>{-2, 1, 3, 4, 5, 6}));
  });
}

TEST(Rope, InverseUndoesInPlace) {
  each_isa([] {
    for (RopePairing pairing : {RopePairing::half, RopePairing::interleaved}) {
      const std::vector<int32_t> positions = {0, 1, 77};
      const std::vector<double> freq = rope_inv_freq(38, 10000);
      Rows<float> c(3, 19), s(3, 19), x = Rows<float>::random(3, 2 * 41, 1), y = x;
      rope_table<float>(positions, freq, c.view(), s.view());
      rope<float>(y.heads_in(2), c.in(), s.in(), pairing, RopeTurn::forward, y.heads(2));
      EXPECT_NE(x.data, y.data);
      rope<float>(y.heads_in(2), c.in(), s.in(), pairing, RopeTurn::inverse, y.heads(2));
      for (size_t i = 0; i < x.data.size(); ++i) EXPECT_NEAR(x.data[i], y.data[i], 1e-6);
    }
  });
}

TEST(Rope, InverseIsTheGradient) {  // Σ g·rope(x): its gradient is the opposite rotation of g
  for (RopePairing pairing : {RopePairing::half, RopePairing::interleaved}) {
    Rows<double> x = Rows<double>::random(2, 10, 1), g = Rows<double>::random(2, 10, 2), y(2, 10), gx(2, 10), c(2, 2),
                 s(2, 2);
    rope_table<double>(std::vector<int32_t>{3, 5}, rope_inv_freq(4, 100), c.view(), s.view());
    auto loss = [&] {
      rope<double>(x.heads_in(2), c.in(), s.in(), pairing, RopeTurn::forward, y.heads(2));
      return weighted_sum(y, g);
    };
    rope<double>(g.heads_in(2), c.in(), s.in(), pairing, RopeTurn::inverse, gx.heads(2));
    check_gradient(loss, x.data, gx.data);
  }
}

TEST(Rope, AllIsasAgree) {
  for (auto [rows, heads, d, n] :
       {std::array<int64_t, 4>{2, 1, 2, 1}, {5, 3, 10, 4}, {40, 4, 128, 64}, {7, 2, 70, 33}}) {
    for (RopePairing pairing : {RopePairing::half, RopePairing::interleaved})
      for (RopeTurn turn : {RopeTurn::forward, RopeTurn::inverse})
        same_on_all_isas(
            [&]<class T>(T) {
              using R = Rows<T>;
              R x = R::random(rows, heads * d, 1, 5), y(rows, heads * d, 3), c = R::random(rows, n, 2),
                s = R::random(rows, n, 3);
              rope<T>(x.heads_in(heads), c.in(), s.in(), pairing, turn, y.heads(heads));
              Outputs o;
              o.add(y);
              return o;
            },
            1e-6);
  }
}

}  // namespace
}  // namespace quern::kernels
