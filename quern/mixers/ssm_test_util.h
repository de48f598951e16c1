// Test helpers of the state space mixers: what every mixer must show (docs/adding-a-mixer.md, section 4).
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <memory>

#include "quern/base/test_message.h"
#include "quern/mixers/mixer.h"
#include "quern/nn/check_module.h"

namespace quern::mixers {

inline void expect_gradients(Mixer& m, int64_t width) {
  grad::NamedParameters p = nn::randomized(m, 5, 0.7);
  Batch documents = Batch::documents({3, 1, 5});
  grad::GradCheck c = grad::grad_check(
      [&](grad::Tape& t, const std::vector<grad::Var>& in) {
        return std::vector<grad::Var>{m.forward(t, in[0], documents, 0)};
      },
      {grad::random_normal({9, width}, 9)}, p);
  EXPECT_LT(c.worst, 1e-7) << c.where;
}

inline void expect_rows(const Tensor& part, const Tensor& whole, int64_t at, double tolerance) {
  const int64_t width = whole.dim(1);
  double scale = 0;
  for (int64_t i = 0; i < whole.size(); ++i) scale = std::max(scale, std::abs(whole.item(i)));
  for (int64_t i = 0; i < part.size(); ++i)
    ASSERT_NEAR(part.item(i), whole.item(at * width + i), tolerance * scale) << "row " << at + i / width;
}

// The whole in double against f32, plain and packed: any split, two sequences side by side, documents in one batch.
inline void expect_any_split(const std::function<std::unique_ptr<Mixer>()>& make, int64_t width) {
  constexpr int64_t kRows = 150;
  Tensor x = grad::random_normal({kRows, width}, 31), other = grad::random_normal({kRows, width}, 32);
  auto exact = make();
  nn::randomized(*exact, 7);
  grad::Tape t(grad::Tape::inference);
  Tensor whole = exact->forward(t, grad::Var(x), Batch::single(kRows), 0).value,
         second = exact->forward(t, grad::Var(other), Batch::single(kRows), 0).value;
  auto f32 = [](const Tensor& v) { return v.to(DType::f32); };
  for (bool pack : {false, true}) {
    auto m = make();
    nn::randomized(*m, 7);
    m->visit("", [](const std::string&, grad::Parameter& p) { p.value = p.value.to(DType::f32); });
    if (pack) m->pack(DType::f32);
    Tensor a = f32(x), b = f32(other);
    expect_rows(m->forward(t, grad::Var(a), Batch::single(kRows), 0).value, whole, 0, 2e-5);
    for (const std::vector<int64_t>& split :
         {std::vector<int64_t>(kRows, 1), {4, 146}, {1, 2, 147}, {64, 64, 22}, {149, 1}, {63, 8, 79}}) {
      SequenceState one({{0, 0, m->state_spec(DType::f32)}}), two({{0, 0, m->state_spec(DType::f32)}});
      int64_t at = 0;
      for (int64_t n : split) {  // both sequences in one batch, at the same place
        Tensor both = Tensor::empty({2 * n, width}, DType::f32);
        both.narrow(0, 0, n).copy_from(a.narrow(0, at, n));
        both.narrow(0, n, n).copy_from(b.narrow(0, at, n));
        Tensor y = m->forward(t, grad::Var(both), Batch::resume({&one, &two}, {n, n}), 0).value;
        expect_rows(y.narrow(0, 0, n).clone(), whole, at, 2e-5);
        expect_rows(y.narrow(0, n, n).clone(), second, at, 2e-5);
        at += n;
      }
    }
    // Documents of 70, 1 and 79 rows of the first sequence, packed and apart.
    const std::vector<int64_t> lengths = {70, 1, 79};
    Tensor packed = m->forward(t, grad::Var(a), Batch::documents(lengths), 0).value;
    int64_t at = 0;
    for (int64_t n : lengths) {
      Tensor alone = m->forward(t, grad::Var(a.narrow(0, at, n).clone()), Batch::single(n), 0).value;
      expect_rows(packed.narrow(0, at, n).clone(), alone, 0, 2e-5);
      at += n;
    }
  }
}

}  // namespace quern::mixers
