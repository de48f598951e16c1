// The tape itself: assign-then-add, shared buffers, several outputs, parameters, recompute, and that the check can
// fail.
#include "quern/grad/tape.h"

#include <gtest/gtest.h>

#include "quern/grad/gradcheck.h"

namespace quern::grad {
namespace {

Tensor times(const Tensor& a, double k) {
  Tensor y = a.clone();
  for (double& v : y.span<double>()) v *= k;
  return y;
}
Var twice(Tape& t, const Var& x, double backward_factor = 2) {
  return t.record(times(x.value, 2), {x}, [=](Grads& g) { g.add(0, times(g.out(), backward_factor)); });
}
Var plus(Tape& t, const Var& a, const Var& b) {
  Tensor y = a.value.clone();
  for (int64_t i = 0; i < y.size(); ++i) y.data<double>()[i] += b.value.data<double>()[i];
  return t.record(y, {a, b}, [](Grads& g) {
    g.add(0, g.out());  // the same buffer twice: it must not be added into in place
    g.add(1, g.out());
  });
}
Var square(Tape& t, const Var& x) {
  Tensor v = x.value, y = v.clone();
  for (double& e : y.span<double>()) e *= e;
  return t.record(y, {x}, [v](Grads& g) {
    Tensor gx = times(g.out(), 2);
    for (int64_t i = 0; i < v.size(); ++i) gx.data<double>()[i] *= v.data<double>()[i];
    g.add(0, gx);
  });
}

TEST(Tape, ManyConsumersOfSharedGradientsAddUp) {
  Tape t;
  Var x = t.input(Tensor::of<double>({2}, {1, 3}));
  Var s = plus(t, x, x);                        // 2x
  Var y = plus(t, plus(t, s, x), twice(t, s));  // 2x + x + 4x
  t.backward({y}, {Tensor::of<double>({2}, {1, 10})});
  EXPECT_EQ(t.grad(x).item(0), 7);
  EXPECT_EQ(t.grad(x).item(1), 70);
}

TEST(Tape, ParametersAddAcrossPassesAndReportOnce) {
  Parameter p({1}, Init::constant(0)), unused({1}, Init::constant(0));
  p.value = Tensor::of<double>({1}, {3});
  unused.value = p.value.clone();
  for (int pass = 1; pass <= 2; ++pass) {
    Tape t;
    int ready = 0;
    t.on_grad_ready = [&](Parameter& q) { ready += &q == &p; };
    Var w = t.param(p);
    t.param(unused);
    Var y = square(t, plus(t, w, t.param(p)));  // (2p)², d/dp = 8p
    t.backward(y);
    EXPECT_EQ(p.grad.item(), 24 * pass);
    EXPECT_EQ(ready, 1);
    EXPECT_FALSE(unused.grad.defined());
  }
  p.zero_grad();
  EXPECT_EQ(p.grad.item(), 0);
}

TEST(Tape, OutputsWithoutConsumersCountAsZero) {
  Tape t;
  Var x = t.input(Tensor::of<double>({1}, {5}));
  auto out = t.record_many({times(x.value, 2), times(x.value, 3)}, {x}, [](Grads& g) {
    EXPECT_FALSE(g.has_out(1));
    Tensor s = times(g.out(0), 2);
    s.data<double>()[0] += 3 * g.out(1).item();
    g.add(0, s);
  });
  t.backward(out[0]);
  EXPECT_EQ(t.grad(x).item(), 2);
}

TEST(Tape, InferenceKeepsNothing) {
  Parameter p({1}, Init::constant(0));
  p.value = Tensor::of<double>({1}, {3});
  Tape t(Tape::inference);
  Var y = square(t, t.param(p));
  EXPECT_EQ(y.value.item(), 9);
  EXPECT_FALSE(y.needs_grad());
}

TEST(Tape, RecomputeGivesTheSameGradients) {
  Parameter p({3}, Init::constant(0));
  p.value = random_normal({3}, 1);
  Tensor x0 = random_normal({3}, 2);
  auto body = [&](Tape& t, const std::vector<Var>& in) {
    return std::vector<Var>{square(t, plus(t, in[0], t.param(p))), twice(t, in[0])};
  };
  std::vector<Tensor> got;
  for (bool again : {false, true}) {
    p.grad = Tensor();
    Tape t;
    Var x = t.input(x0);
    auto mid = again ? t.recompute({square(t, x)}, body) : body(t, {square(t, x)});
    t.backward({plus(t, mid[0], mid[1])}, {Tensor::full({3}, DType::f64, 1)});
    got.push_back(t.grad(x));
    got.push_back(p.grad);
  }
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_DOUBLE_EQ(got[0].item(i), got[2].item(i));
    EXPECT_DOUBLE_EQ(got[1].item(i), got[3].item(i));
    EXPECT_NE(got[1].item(i), 0);
  }
}

// Used inside a recomputed part and outside of it, before and after: ready once, when its gradient is whole.
TEST(Tape, ReadyWaitsForRecomputedUses) {
  for (bool also_outside : {false, true}) {
    Parameter p({1}, Init::constant(0));
    p.value = Tensor::of<double>({1}, {3});
    auto body = [&](Tape& t, const std::vector<Var>& in) {
      return std::vector<Var>{square(t, plus(t, in[0], t.param(p)))};
    };
    Tape t;
    std::vector<double> seen;
    t.on_grad_ready = [&](Parameter& q) { seen.push_back(q.grad.item()); };
    Var y = t.recompute({Var(Tensor::of<double>({1}, {1}))}, body)[0];  // (1 + p)², no input needs a gradient
    if (also_outside) y = plus(t, y, square(t, t.param(p)));
    t.backward(y);
    EXPECT_EQ(seen, std::vector<double>{also_outside ? 14.0 : 8.0});
  }
}

TEST(Tape, GradientsOfBf16ParametersAreF32) {
  Parameter p({2}, Init::constant(0));
  p.value = Tensor::full({2}, DType::bf16, 1);
  Tape t;
  Var w = t.param(p);
  Var y = t.record(w.value.to(DType::f32), {w}, [](Grads& g) { g.add(0, g.out()); });
  t.backward({y}, {Tensor::full({2}, DType::f32, 1 + 1e-4)});
  EXPECT_EQ(p.grad.dtype(), DType::f32);
  EXPECT_EQ(p.grad.item(1), 1 + 1e-4f);
}

TEST(GradCheck, SeesAWrongGradient) {
  auto good = [](Tape& t, const std::vector<Var>& in) { return std::vector<Var>{square(t, twice(t, in[0]))}; };
  auto bad = [](Tape& t, const std::vector<Var>& in) { return std::vector<Var>{square(t, twice(t, in[0], 2.01))}; };
  EXPECT_LT(grad_check(good, {random_normal({5}, 3)}, {}).worst, 1e-8);
  EXPECT_GT(grad_check(bad, {random_normal({5}, 3)}, {}).worst, 1e-3);
}

}  // namespace
}  // namespace quern::grad
