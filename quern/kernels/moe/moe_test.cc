// Mixture of experts: the plan by hand, one expert by hand, gradients, and the grouped computation against a loop
// over tokens on every instruction set: top-1 and top-k, experts without tokens, pairs that skip, packed weights.
#include "quern/kernels/moe/moe.h"

#include "quern/kernels/test_util.h"

namespace quern::kernels {
namespace {

View<const int32_t, 2> pairs(const std::vector<int32_t>& e, int64_t k) {
  return {e.data(), {static_cast<int64_t>(e.size()) / k, k}};
}
template <class T>
View<T, 3> stacked(Rows<T>& w, int64_t experts) {
  return {w.data.data(), {experts, w.rows / experts, w.width}};
}
std::vector<int32_t> list(std::span<int32_t> s) { return {s.begin(), s.end()}; }

TEST(MoePlan, CountingSortKeepsTokenOrder) {
  Arena scratch;
  const std::vector<int32_t> expert = {2, 0, 3, 2, -1, 2};  // three tokens, two slots, three experts; 3 and −1 skip
  MoePlan plan = moe_plan(pairs(expert, 2), 3, scratch);
  EXPECT_EQ(plan.n, 4);
  EXPECT_EQ(list(plan.offsets), (std::vector<int32_t>{0, 1, 1, 4}));
  EXPECT_EQ(list(plan.token), (std::vector<int32_t>{0, 0, 1, 2}));
  EXPECT_EQ(list(plan.slot), (std::vector<int32_t>{1, 0, 1, 1}));
}

TEST(Moe, OneExpertByHand) {  // relu(x·g)·(x·u)·d with x = 2, g = 3, u = 5, d = 7, p = 1/2; the second token skips
  each_isa([] {
    Arena scratch;
    Rows<float> x(2, 1), gu(2, 1), down(1, 1), p(2, 1), y(2, 1);
    x.data = {2, 2}, gu.data = {3, 5}, down.data = {7}, p.data = {0.5f, 0.5f};
    MoePlan plan = moe_plan(pairs({0, 1}, 1), 1, scratch);
    moe_ffn<float>(
        {x.in(), stacked<float>(gu, 1), stacked<float>(down, 1), p.in(), Activation::relu, y.view(), {}, {}}, plan,
        scratch);
    EXPECT_EQ(y.data, (std::vector<float>{210, 0}));
  });
}

template <class T>
struct Mixture {
  static constexpr int64_t kExperts = 4;
  int64_t tokens, slots, d, f;
  Arena scratch;
  std::vector<int32_t> expert;
  MoePlan plan;
  Rows<T> x, gu, down, p, gy, y, gx, gp, g_gu, g_down;
  Rows<T> saved_gu, saved_out;

  // Routes drawn from kExperts + 1 classes, the last of which skips; expert 1 is never chosen.
  Mixture(int64_t t, int64_t k, int64_t d_, int64_t f_)
      : tokens(t),
        slots(k),
        d(d_),
        f(f_),
        expert(route(t * k)),
        plan(moe_plan(pairs(expert, k), kExperts, scratch)),
        x(Rows<T>::random(t, d, 1, 3)),
        gu(Rows<T>::random(kExperts * 2 * f, d, 2)),
        down(Rows<T>::random(kExperts * d, f, 3)),
        p(Rows<T>::random(t, k, 4, 1)),
        gy(Rows<T>::random(t, d, 5, 2)),
        y(t, d, 1),
        gx(t, d, 4),
        gp(t, k, 2),
        g_gu(Rows<T>::random(kExperts * 2 * f, d, 6)),
        g_down(Rows<T>::random(kExperts * d, f, 7)),
        saved_gu(plan.n, 2 * f, 1),
        saved_out(plan.n, d, 2) {}

  static std::vector<int32_t> route(int64_t n) {
    std::vector<int32_t> e(static_cast<size_t>(n));
    Rng rng(11);
    for (int32_t& v : e) {
      v = static_cast<int32_t>(rng.below(kExperts + 1));
      if (v == 1) v = 2;
    }
    return e;
  }
  void forward(bool save = true) {
    MoeForward<T> a{x.in(), stacked(gu, kExperts), stacked(down, kExperts), p.in(), Activation::silu, y.view(), {},
                    {}};
    if (save) a.saved_gate_up = saved_gu.view(), a.saved_out = saved_out.view();
    moe_ffn<T>(a, plan, scratch);
  }
  void backward(bool parameters = true) {
    MoeBackward<T> a{x.in(),
                     stacked(gu, kExperts),
                     stacked(down, kExperts),
                     p.in(),
                     saved_gu.in(),
                     saved_out.in(),
                     gy.in(),
                     Activation::silu,
                     gx.view(),
                     gp.view(),
                     {},
                     {}};
    if (parameters) a.g_gate_up = stacked(g_gu, kExperts), a.g_down = stacked(g_down, kExperts);
    moe_ffn_backward<T>(a, plan, scratch);
  }
};

TEST(Moe, Gradient) {
  Mixture<double> m(5, 2, 3, 2);
  auto loss = [&] {
    m.forward();
    double s = 0;
    for (int64_t t = 0; t < m.tokens; ++t)
      for (int64_t c = 0; c < m.d; ++c) s += m.y.view()(t, c) * m.gy.view()(t, c);
    return s;
  };
  loss();
  std::fill(m.g_gu.data.begin(), m.g_gu.data.end(), 0);
  std::fill(m.g_down.data.begin(), m.g_down.data.end(), 0);
  m.backward();
  check_gradient(loss, m.gu.data, m.g_gu.data);
  check_gradient(loss, m.down.data, m.g_down.data);
  for (int64_t t = 0; t < m.tokens; ++t) {
    check_gradient(loss, {m.x.view().row(t), 3}, {m.gx.view().row(t), 3});
    check_gradient(loss, {m.p.view().row(t), 2}, {m.gp.view().row(t), 2});
  }
}

TEST(Moe, GroupedEqualsTokenByTokenOnAllIsas) {
  struct Case {
    int64_t tokens, slots, d, f;
  };
  for (const Case& c : {Case{1, 1, 8, 5}, {40, 1, 33, 17}, {70, 3, 24, 40}, {3, 2, 65, 16}})
    same_on_all_isas(
        [&]<class T>(T) {
          Mixture<T> m(c.tokens, c.slots, c.d, c.f);
          Outputs o;
          m.forward();
          o.add(m.y), o.add(m.saved_gu), o.add(m.saved_out);
          m.backward();
          o.add(m.gx), o.add(m.gp), o.add(m.g_gu), o.add(m.g_down);
          m.forward(false);
          m.backward(false);
          o.add(m.y), o.add(m.gx);
          return o;
        },
        2e-5);
}

TEST(Moe, EverythingSkips) {
  each_isa([] {
    Arena scratch;
    Rows<float> x = Rows<float>::random(2, 3, 1), gu(4, 3), down(3, 2), p = Rows<float>::random(2, 1, 2), y = x,
                gx = x, gp = p;
    MoePlan plan = moe_plan(pairs({1, -1}, 1), 1, scratch);
    EXPECT_EQ(plan.n, 0);
    moe_ffn<float>(
        {x.in(), stacked<float>(gu, 1), stacked<float>(down, 1), p.in(), Activation::silu, y.view(), {}, {}}, plan,
        scratch);
    EXPECT_EQ(y.data, std::vector<float>(6, 0));
    moe_ffn_backward<float>({x.in(),
                             stacked<float>(gu, 1),
                             stacked<float>(down, 1),
                             p.in(),
                             {},
                             {},
                             x.in(),
                             Activation::silu,
                             gx.view(),
                             gp.view(),
                             {},
                             {}},
                            plan, scratch);
    EXPECT_EQ(gx.data, std::vector<float>(6, 0));
    EXPECT_EQ(gp.data, std::vector<float>(2, 0));
  });
}

TEST(Moe, GroupedGemm) {
  same_on_all_isas(
      [&]<class T>(T) {
        Mixture<T> m(30, 2, 20, 9);
        Rows<T> x = Rows<T>::random(m.plan.n, 20, 8, 3), out(m.plan.n, 18, 2);
        grouped_gemm<T>(x.in(), stacked(m.gu, m.kExperts), m.plan, out.view());
        Outputs o;
        o.add(out);
        return o;
      },
      1e-5);
}

TEST(Moe, PackedEqualsUnpacked) {
  for (auto [tokens, slots] : {std::array<int64_t, 2>{1, 1}, {1, 2}, {37, 2}})
    for (DType dtype : {DType::f32, DType::bf16}) {
      Mixture<double> want(tokens, slots, 64, 48);
      want.forward(false);
      each_isa([&] {
        Mixture<float> m(tokens, slots, 64, 48);
        std::vector<PrepackedWeight> gu, down;
        for (int64_t e = 0; e < m.kExperts; ++e) {
          const int64_t first = e * 96 * 64, second = e * 64 * 48;
          gu.push_back(PrepackedWeight::pack(
              Tensor::of<float>({96, 64}, std::span<const float>(m.gu.data).subspan(first, 96 * 64)), dtype));
          down.push_back(PrepackedWeight::pack(
              Tensor::of<float>({64, 48}, std::span<const float>(m.down.data).subspan(second, 64 * 48)), dtype));
        }
        moe_ffn_packed(
            {.x = m.x.in(), .gate_up = gu, .down = down, .p = m.p.in(), .act = Activation::silu, .y = m.y.view()},
            m.plan, m.scratch);
        Outputs got, expected;
        got.add(m.y), expected.add(want.y);
        double largest = 0;
        for (double v : expected.values) largest = std::max(largest, std::abs(v));
        // bf16 keeps 8 bits of weights and inputs: 2⁻⁹ a factor, over two layers and sums of mixed signs.
        expect_near_all(got.values, expected.values, dtype == DType::f32 ? 2e-5 : 0.01 * largest);
      });
    }
}

// An expert's matrix packed, and what it holds written back to `to`.
PrepackedWeight packed_expert(const Rows<float>& from, Rows<double>& to, int64_t e, std::array<int64_t, 2> nk,
                              const QuantFormat& s) {
  const auto [n, k] = nk;
  const auto w =
      std::span<const float>(from.data).subspan(static_cast<size_t>(e * n * k), static_cast<size_t>(n * k));
  PrepackedWeight packed = PrepackedWeight::pack(Tensor::of<float>({n, k}, w), s);
  std::vector<float> row(static_cast<size_t>(k));
  for (int64_t i = 0; i < n; ++i) {
    packed.row(i, {row.data(), {k}});
    std::copy(row.begin(), row.end(), to.data.begin() + (e * n + i) * k);
  }
  return packed;
}

// Quantized experts against the mixture of their own weights, read back row by row: side by side (few rows), and one
// after the other (many).
TEST(Moe, QuantizedExpertsAreTheMixtureOfTheirWeights) {
  for (int64_t tokens : {1, 16, 37, 300})
    for (const QuantFormat& s : {QuantFormat(WeightFormat::q8), QuantFormat(WeightFormat::q4, 32)}) {
      Mixture<double> want(tokens, 2, 64, 48);
      Mixture<float> m(tokens, 2, 64, 48);
      std::vector<PrepackedWeight> gu, down;
      for (int64_t e = 0; e < m.kExperts; ++e) {
        gu.push_back(packed_expert(m.gu, want.gu, e, {96, 64}, s));
        down.push_back(packed_expert(m.down, want.down, e, {64, 48}, s));
      }
      want.forward(false);
      Outputs expected;
      expected.add(want.y);
      double largest = 0;
      for (double v : expected.values) largest = std::max(largest, std::abs(v));
      each_isa([&] {
        moe_ffn_packed(
            {.x = m.x.in(), .gate_up = gu, .down = down, .p = m.p.in(), .act = Activation::silu, .y = m.y.view()},
            m.plan, m.scratch);
        Outputs got;
        got.add(m.y);
        expect_near_all(got.values, expected.values, 0.006 * largest);  // rows rounded to bf16 twice
      });
    }
}

// Gradients through packed experts against those through the same weights in double: experts side by side (few rows) and
// one after the other (many), some without tokens, pairs that skip.
TEST(Moe, GradientsThroughPackedExpertsAreThoseOfTheirWeights) {
  for (int64_t tokens : {1, 37, 300})
    for (const QuantFormat& s :
         {QuantFormat(WeightFormat::q8), QuantFormat(WeightFormat::q4, 32), QuantFormat(DType::f32)}) {
      Mixture<double> want(tokens, 2, 64, 48);
      Mixture<float> m(tokens, 2, 64, 48);
      std::vector<PrepackedWeight> gu, down;
      for (int64_t e = 0; e < m.kExperts; ++e) {
        gu.push_back(packed_expert(m.gu, want.gu, e, {96, 64}, s));
        down.push_back(packed_expert(m.down, want.down, e, {64, 48}, s));
      }
      want.forward(), want.backward();
      Outputs expected;
      expected.add(want.gx), expected.add(want.gp);
      double largest = 0;
      for (double v : expected.values) largest = std::max(largest, std::abs(v));
      each_isa([&] {
        m.forward();  // other weights: nothing of it may stay
        moe_ffn_packed({.x = m.x.in(),
                        .gate_up = gu,
                        .down = down,
                        .p = m.p.in(),
                        .act = Activation::silu,
                        .y = m.y.view(),
                        .saved_gate_up = m.saved_gu.view(),
                        .saved_out = m.saved_out.view()},
                       m.plan, m.scratch);
        for (const bool bf16 : {false, true}) {
          moe_ffn_packed_backward({.gate_up = gu,
                                   .down = down,
                                   .p = m.p.in(),
                                   .saved_gate_up = m.saved_gu.in(),
                                   .saved_out = m.saved_out.in(),
                                   .gy = m.gy.in(),
                                   .act = Activation::silu,
                                   .gx = m.gx.view(),
                                   .gp = m.gp.view(),
                                   .bf16 = bf16},
                                  m.plan, m.scratch);
          Outputs got;
          got.add(m.gx), got.add(m.gp);
          // Quantized products round their rows to bf16 in the forward pass, and all of them may in the backward.
          expect_near_all(got.values, expected.values, (s.quantized() || bf16 ? 0.012 : 1e-5) * largest);
        }
      });
    }
}

}  // namespace
}  // namespace quern::kernels
