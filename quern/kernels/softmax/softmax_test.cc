// Softmax: closed-form values, extreme inputs, gradient, every instruction set against the reference.
#include "quern/kernels/softmax/softmax.h"

#include <limits>

#include "quern/kernels/test_util.h"

namespace quern::kernels {
namespace {

TEST(Softmax, LogOfIntegers) {  // softmax(log 1, log 2, log 5) = 1/8, 2/8, 5/8
  each_isa([] {
    Rows<float> x(1, 3), p(1, 3), lse(1, 1);
    x.data = {0, std::log(2.0f), std::log(5.0f)};
    softmax<float>(x.in(), p.view());
    EXPECT_NEAR(p.data[0], 0.125, 1e-7);
    EXPECT_NEAR(p.data[1], 0.25, 1e-7);
    EXPECT_NEAR(p.data[2], 0.625, 1e-7);
    log_sum_exp<float>(x.in(), lse.vec());
    EXPECT_NEAR(lse.data[0], std::log(8.0), 1e-6);
  });
}

TEST(Softmax, LargeAndMissingLogits) {
  const float inf = std::numeric_limits<float>::infinity();
  each_isa([&] {
    Rows<float> x(2, 3), lse(1, 2);
    x.data = {3e38f, -inf, 3e38f, -inf, -inf, -inf};
    log_sum_exp<float>(x.in(), lse.vec());
    EXPECT_FLOAT_EQ(lse.data[0], 3e38f);
    EXPECT_EQ(lse.data[1], -inf);
    softmax<float>(x.in().slice(0, 1), x.view().slice(0, 1));  // in place
    EXPECT_EQ(x.data[0], 0.5f);
    EXPECT_EQ(x.data[1], 0.0f);
  });
}

TEST(Softmax, Gradient) {
  Rows<double> x = Rows<double>::random(3, 6, 1), g = Rows<double>::random(3, 6, 2), p(3, 6), gx(3, 6);
  auto loss = [&] {
    softmax<double>(x.in(), p.view());
    return weighted_sum(p, g);
  };
  loss();
  softmax_backward<double>(p.in(), g.in(), gx.view());
  check_gradient(loss, x.data, gx.data);
}

TEST(Softmax, AllIsasAgree) {
  for (auto [rows, width] : {std::array<int64_t, 2>{1, 1}, {5, 7}, {3, 16}, {4, 47}, {50, 1000}}) {
    SCOPED_TRACE(testing::Message() << rows << "x" << width);
    same_on_all_isas(
        [&]<class T>(T) {
          using R = Rows<T>;
          R x = R::random(rows, width, 1, 3, 20), g = R::random(rows, width, 2, 5), p(rows, width, 1),
            gx(rows, width, 2), lse(1, rows);
          softmax<T>(x.in(), p.view());
          softmax_backward<T>(p.in(), g.in(), gx.view());
          log_sum_exp<T>(x.in(), lse.vec());
          Outputs o;
          o.add(p), o.add(gx), o.add(lse);
          return o;
        },
        1e-6);
  }
}

}  // namespace
}  // namespace quern::kernels
