// Row norms: closed-form values, gradients against finite differences, every instruction set against the reference.
#include "quern/kernels/norm/norm.h"

#include "quern/base/threads.h"
#include "quern/kernels/test_util.h"

namespace quern::kernels {
namespace {

using D = Rows<double>;

TEST(RmsNorm, ThreeFour) {  // mean square of (3, 4) is 12.5
  each_isa([] {
    Rows<float> x(1, 2), w(1, 2), y(1, 2), inv(1, 1);
    x.data = {3, 4}, w.data = {1, 2};
    rms_norm<float>(x.in(), w.vec_in(), 0, y.view(), inv.vec());
    EXPECT_NEAR(y.data[0], 3 / std::sqrt(12.5), 1e-6);
    EXPECT_NEAR(y.data[1], 8 / std::sqrt(12.5), 1e-6);
    EXPECT_NEAR(inv.data[0], 1 / std::sqrt(12.5), 1e-7);
  });
}

TEST(LayerNorm, OneThree) {  // mean 2, variance 1
  each_isa([] {
    Rows<float> x(1, 2), w(1, 2), b(1, 2), y(1, 2), mean(1, 1), inv(1, 1);
    x.data = {1, 3}, w.data = {2, 2}, b.data = {10, 20};
    layer_norm<float>({.x = x.in(),
                       .w = w.vec_in(),
                       .b = b.vec_in(),
                       .eps = 0,
                       .y = y.view(),
                       .mean = mean.vec(),
                       .inv = inv.vec()});
    EXPECT_NEAR(y.data[0], 8, 1e-5);
    EXPECT_NEAR(y.data[1], 22, 1e-5);
    EXPECT_NEAR(mean.data[0], 2, 1e-6);
  });
}

TEST(L2Norm, UnitVectorTimesScaleAndTemperature) {
  each_isa([] {
    Rows<float> x(1, 4), t(1, 2), y(1, 4), norm(1, 2);
    x.data = {3, 4, 0, 0}, t.data = {0.5f, 1};
    l2_norm<float>(x.heads_in(2), t.vec_in(), 2, 1e-3, y.heads(2), norm.view());
    EXPECT_NEAR(y.data[0], 0.6, 1e-6);
    EXPECT_NEAR(y.data[1], 0.8, 1e-6);
    EXPECT_EQ(y.data[2], 0);  // a zero vector stays zero, divided by eps
    EXPECT_NEAR(norm.data[0], 5, 1e-6);
  });
}

TEST(RmsNorm, Gradient) {
  D x = D::random(3, 5, 1), w = D::random(1, 5, 2), g = D::random(3, 5, 3), y(3, 5), inv(1, 3), gx(3, 5), gw(1, 5);
  auto loss = [&] {
    rms_norm<double>(x.in(), w.vec_in(), 1e-3, y.view(), inv.vec());
    return weighted_sum(y, g);
  };
  loss();
  rms_norm_backward<double>(x.in(), w.vec_in(), inv.vec_in(), g.in(), gx.view(), gw.vec());
  check_gradient(loss, x.data, gx.data);
  check_gradient(loss, w.data, gw.data);
}

TEST(LayerNorm, Gradient) {
  D x = D::random(3, 5, 1), w = D::random(1, 5, 2), b = D::random(1, 5, 4), g = D::random(3, 5, 3), y(3, 5);
  D mean(1, 3), inv(1, 3), gx(3, 5), gw(1, 5), gb(1, 5);
  auto loss = [&] {
    layer_norm<double>({.x = x.in(),
                        .w = w.vec_in(),
                        .b = b.vec_in(),
                        .eps = 1e-3,
                        .y = y.view(),
                        .mean = mean.vec(),
                        .inv = inv.vec()});
    return weighted_sum(y, g);
  };
  loss();
  layer_norm_backward<double>({.x = x.in(),
                               .w = w.vec_in(),
                               .mean = mean.vec_in(),
                               .inv = inv.vec_in(),
                               .gy = g.in(),
                               .gx = gx.view(),
                               .gw = gw.vec(),
                               .gb = gb.vec()});
  check_gradient(loss, x.data, gx.data);
  check_gradient(loss, w.data, gw.data);
  check_gradient(loss, b.data, gb.data);
}

TEST(L2Norm, GradientOnBothSidesOfEps) {
  for (double eps : {1e-3, 10.0}) {  // 10: every norm is below it
    D x = D::random(3, 8, 1), t = D::random(1, 2, 2), g = D::random(3, 8, 3), y(3, 8), norm(3, 2), gx(3, 8), gt(1, 2);
    auto loss = [&] {
      l2_norm<double>(x.heads_in(2), t.vec_in(), 1.5, eps, y.heads(2), norm.view());
      return weighted_sum(y, g);
    };
    loss();
    l2_norm_backward<double>({.x = x.heads_in(2),
                              .temperature = t.vec_in(),
                              .scale = 1.5,
                              .eps = eps,
                              .norm = norm.in(),
                              .gy = g.heads_in(2),
                              .gx = gx.heads(2),
                              .g_temperature = gt.vec()});
    check_gradient(loss, x.data, gx.data);
    check_gradient(loss, t.data, gt.data);
  }
}

struct Case {
  int64_t rows, width, gap;
};
constexpr Case kCases[] = {{1, 1, 0}, {3, 7, 5}, {5, 16, 0}, {6, 33, 3}, {70, 513, 16}, {9, 1100, 1}};

TEST(Norm, AllIsasAgree) {
  for (auto [rows, width, gap] : kCases) {
    SCOPED_TRACE(testing::Message() << rows << "x" << width);
    same_on_all_isas(
        [&]<class T>(T) {
          using R = Rows<T>;
          R x = R::random(rows, width, 1, gap), gy = R::random(rows, width, 2, gap), w = R::random(1, width, 3);
          R b = R::random(1, width, 4), y(rows, width, gap), gx(rows, width, gap), inv(1, rows), mean(1, rows);
          R gw = R::random(1, width, 5), gb = R::random(1, width, 6);
          Outputs o;
          rms_norm<T>(x.in(), w.vec_in(), 1e-2, y.view(), inv.vec());
          o.add(y), o.add(inv);
          rms_norm_backward<T>(x.in(), w.vec_in(), inv.vec_in(), gy.in(), gx.view(), gw.vec());
          o.add(gx), o.add(gw);
          layer_norm<T>({.x = x.in(),
                         .w = w.vec_in(),
                         .b = b.vec_in(),
                         .eps = 1e-2,
                         .y = y.view(),
                         .mean = mean.vec(),
                         .inv = inv.vec()});
          o.add(y), o.add(inv), o.add(mean);
          layer_norm_backward<T>({.x = x.in(),
                                  .w = w.vec_in(),
                                  .mean = mean.vec_in(),
                                  .inv = inv.vec_in(),
                                  .gy = gy.in(),
                                  .gx = gx.view(),
                                  .gw = gw.vec(),
                                  .gb = gb.vec()});
          o.add(gx), o.add(gw), o.add(gb);
          layer_norm<T>({.x = x.in(), .w = w.vec_in(), .eps = 1e-2, .y = y.view()});
          o.add(y);
          layer_norm_backward<T>({.x = x.in(),
                                  .w = w.vec_in(),
                                  .mean = mean.vec_in(),
                                  .inv = inv.vec_in(),
                                  .gy = gy.in(),
                                  .gx = gx.view()});
          o.add(gx);
          return o;
        },
        2e-5);
  }
}

TEST(L2Norm, AllIsasAgree) {
  for (auto [rows, heads, d] : {std::array<int64_t, 3>{4, 3, 5}, {40, 4, 32}, {3, 2, 129}}) {
    same_on_all_isas(
        [&]<class T>(T) {
          using R = Rows<T>;
          R x = R::random(rows, heads * d, 1, 7), gy = R::random(rows, heads * d, 2, 3), t = R::random(1, heads, 3);
          R y(rows, heads * d, 2), gx(rows, heads * d, 1), norm(rows, heads), gt = R::random(1, heads, 4);
          Outputs o;
          l2_norm<T>(x.heads_in(heads), t.vec_in(), 1.5, 1e-6, y.heads(heads), norm.view());
          l2_norm_backward<T>({.x = x.heads_in(heads),
                               .temperature = t.vec_in(),
                               .scale = 1.5,
                               .eps = 1e-6,
                               .norm = norm.in(),
                               .gy = gy.heads_in(heads),
                               .gx = gx.heads(heads),
                               .g_temperature = gt.vec()});
          o.add(y), o.add(norm), o.add(gx), o.add(gt);
          l2_norm<T>(x.heads_in(heads), {}, 1, 1e-6, y.heads(heads), {});
          o.add(y);
          return o;
        },
        2e-5);
  }
}

TEST(Norm, OutputsBeyondTheCacheAreStoredAlike) {  // 2048·2112·4 bytes: streaming stores
  constexpr int64_t kRows = 2048, kWidth = 2112;
  Rows<float> x = Rows<float>::random(kRows, kWidth, 1), w = Rows<float>::random(1, kWidth, 2), y(kRows, kWidth);
  Rows<float> head(8, kWidth), big(kRows + 1, kWidth);
  const size_t shift = (64 - reinterpret_cast<uintptr_t>(big.data.data()) % 64) / 4;  // aligned: streams
  View<float, 2> aligned(big.data.data() + shift, {kRows, kWidth});
  rms_norm<float>(x.in(), w.vec_in(), 1e-5, aligned, {});
  rms_norm<float>(x.in().slice(0, 8), w.vec_in(), 1e-5, head.view(), {});  // small: does not
  for (int64_t t = 0; t < 8; ++t)
    for (int64_t c = 0; c < kWidth; ++c) ASSERT_EQ(aligned(t, c), head.view()(t, c));
}

TEST(Norm, SameThreadsSameBits) {
  const int before = thread_count();
  set_thread_count(3);
  Rows<float> x = Rows<float>::random(300, 257, 1), w = Rows<float>::random(1, 257, 2), inv(1, 300), y(300, 257),
              gx(300, 257);
  rms_norm<float>(x.in(), w.vec_in(), 1e-5, y.view(), inv.vec());
  Rows<float> a(1, 257), b(1, 257);
  rms_norm_backward<float>(x.in(), w.vec_in(), inv.vec_in(), y.in(), gx.view(), a.vec());
  rms_norm_backward<float>(x.in(), w.vec_in(), inv.vec_in(), y.in(), gx.view(), b.vec());
  EXPECT_EQ(a.data, b.data);
  set_thread_count(before);
}

}  // namespace
}  // namespace quern::kernels
