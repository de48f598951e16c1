// CCA in its general forms: finite differences of everything, any split of a sequence against the whole, documents
// apart, the padding rule against a hand-written recurrence, parameter and cache counts against the paper's formulas.
#include <gtest/gtest.h>

#include <cmath>

#include "quern/mixers/cca/cca_mixer.h"
#include "quern/mixers/cca/latent.h"
#include "quern/nn/check_module.h"

namespace quern::mixers {
namespace {

using Temperature = CcaConfig::Temperature;

struct Form {
  const char* name;
  int64_t n_head, n_head_kv, time0, time1, window;
  bool delay, mean;
  Temperature temperature;
  bool bias = false;
};
constexpr Form kForms[] = {
    {"ccgqa", 4, 2, 2, 2, 0, true, true, Temperature::linear},
    {"cca", 2, 2, 2, 2, 0, true, true, Temperature::linear},
    {"one_kv_head", 4, 1, 3, 2, 0, true, true, Temperature::linear},
    {"long_kernels", 2, 2, 4, 3, 0, true, true, Temperature::exponential},
    {"no_convolution", 2, 1, 0, 0, 0, false, false, Temperature::linear},
    {"depthwise_only", 4, 2, 3, 0, 0, false, true, Temperature::linear},
    {"grouped_only", 4, 2, 0, 2, 3, true, false, Temperature::linear},
    {"one_tap", 2, 1, 1, 1, 0, true, true, Temperature::exponential},
    {"biases", 4, 2, 2, 2, 0, true, true, Temperature::linear, true},
    {"biases_without_delay", 2, 1, 2, 0, 3, false, true, Temperature::linear, true},
};

CcaConfig config(const Form& f) {
  CcaConfig c;
  c.width = 6;
  c.n_head = f.n_head;
  c.n_head_kv = f.n_head_kv;
  c.head_dim = 4;
  c.time0 = f.time0;
  c.time1 = f.time1;
  c.rotary_dims = 2;
  c.window = f.window;
  c.value_delay = f.delay;
  c.qk_mean = f.mean;
  c.qkv_bias = c.o_bias = f.bias;
  c.temperature = f.temperature;
  return c;
}

class CcaForms : public testing::TestWithParam<Form> {};

TEST_P(CcaForms, FiniteDifferences) {
  CcaMixer m(config(GetParam()));
  grad::NamedParameters p = nn::randomized(m, 5, 0.7);
  Batch documents = Batch::documents({3, 1, 4});
  grad::GradCheck c = grad::grad_check(
      [&](grad::Tape& t, const std::vector<grad::Var>& in) {
        return std::vector<grad::Var>{m.forward(t, in[0], documents, 0)};
      },
      {grad::random_normal({8, 6}, 9)}, p);
  EXPECT_LT(c.worst, 1e-7) << c.where;
}

constexpr int64_t kRows = 11, kWidth = 6;

Tensor rows(const Tensor& x, int64_t begin, int64_t n) { return x.narrow(0, begin, n).clone(); }

void expect_rows(const Tensor& part, const Tensor& whole, int64_t at, double tolerance) {
  for (int64_t i = 0; i < part.size(); ++i)
    ASSERT_NEAR(part.item(i), whole.item(at * kWidth + i), tolerance) << "row " << at + i / kWidth;
}

// The whole in double against any split, two sequences side by side and two documents in one batch.
void expect_agreement(CcaMixer& m, const Tensor& whole, const Tensor& second, const Tensor& x, double tolerance) {
  grad::Tape t(grad::Tape::inference);
  expect_rows(m.forward(t, grad::Var(x), Batch::single(kRows), 0).value, whole, 0, tolerance);
  for (const std::vector<int64_t>& split : {std::vector<int64_t>(kRows, 1), {4, 7}, {1, 2, 8}}) {
    SequenceState state({{0, 0, m.state_spec(DType::f32)}});
    int64_t at = 0;
    for (int64_t n : split) {
      expect_rows(m.forward(t, grad::Var(rows(x, at, n)), Batch::resume({&state}, {n}), 0).value, whole, at,
                  tolerance);
      state.advance(n);
      at += n;
    }
  }
  SequenceState a({{0, 0, m.state_spec(DType::f32)}}), b({{0, 0, m.state_spec(DType::f32)}});
  m.forward(t, grad::Var(rows(x, 0, 3)), Batch::resume({&a}, {3}), 0);
  a.advance(3);
  Batch both = Batch::resume({&a, &b}, {2, 6});  // rows 3 and 4 of one sequence, a fresh one of rows 5 … 10
  Tensor y = m.forward(t, grad::Var(rows(x, 3, 8)), both, 0).value;
  expect_rows(rows(y, 0, 2), whole, 3, tolerance);
  expect_rows(rows(y, 2, 6), second, 0, tolerance);
  Tensor packed = m.forward(t, grad::Var(x), Batch::documents({5, 6}), 0).value;
  expect_rows(rows(packed, 0, 5), whole, 0, tolerance);
  expect_rows(rows(packed, 5, 6), second, 0, tolerance);
}

TEST_P(CcaForms, AnySplitEqualsWholeInEveryPrecision) {
  CcaMixer m(config(GetParam()));
  nn::randomized(m, 5, 0.7);
  Tensor x = grad::random_normal({kRows, kWidth}, 3);
  grad::Tape t(grad::Tape::inference);
  Tensor whole = m.forward(t, grad::Var(x), Batch::single(kRows), 0).value,
         second = m.forward(t, grad::Var(rows(x, 5, 6)), Batch::single(6), 0).value;
  m.visit("", [](const std::string&, grad::Parameter& p) { p.value = p.value.to(DType::f32); });
  Tensor x32 = x.to(DType::f32);
  expect_agreement(m, whole, second, x32, 2e-5);
  m.pack(DType::f32);  // the fused path
  expect_agreement(m, whole, second, x32, 2e-5);
  CcaMixer half(config(GetParam()));
  nn::randomized(half, 5, 0.7);
  half.visit("", [](const std::string&, grad::Parameter& p) { p.value = p.value.to(DType::f32); });
  half.pack(DType::bf16);
  expect_agreement(half, whole, second, x32, 0.15);
}

INSTANTIATE_TEST_SUITE_P(Forms, CcaForms, testing::ValuesIn(kForms),
                         [](const auto& i) { return std::string(i.param.name); });

// One channel a head, kernels 2 and 2, no mean: before the norm the latent is w1[1](w0[1]z_t + w0[0]z_{t−1} + b0)
// + w1[0]u_{t−1} + b1 with z_{−1} = z_{−2} = 0 and u_{−1} = b0, not 0. The norm leaves its sign: made visible by
// choosing values whose sign depends on u_{−1}.
TEST(Cca, TheWordBeforeTheFirstIsTheDepthwiseBias) {
  CcaConfig c;
  c.width = 2;
  c.n_head = c.n_head_kv = 1;
  c.head_dim = 2;
  c.qk_mean = false;
  auto set = [](Shape s, std::initializer_list<double> v) {
    grad::Parameter p(s, grad::Init::constant(0));
    p.value = Tensor::of<double>(s, v);
    return p;
  };
  grad::Parameter dw_w = set({4, 1, 2}, {0.5, 2, 0.5, 2, 1, 1, 1, 1}), dw_b = set({4}, {3, -1, 0.5, 0.25});
  // grouped [C, d, 2]: output channel o reads both channels of its head at two taps
  grad::Parameter gc_w = set({4, 2, 2}, {1, 1, 0, 0, 0, 0, 1, 1, 1, 0.5, 0, 0, 0, 0, 1, 2}),
                  gc_b = set({4}, {0.1, 0.2, 0.3, 0.4}), temp = set({1}, {1});
  Tensor z = Tensor::of<double>({1, 4}, {-1, 0.5, 2, -3});
  grad::Tape t(grad::Tape::inference);
  auto qk = latent_qk(t, c, {.z_TC = grad::Var(z)}, {&dw_w, &dw_b, &gc_w, &gc_b, &temp}, Batch::single(1));
  double u0[4] = {2 * -1 + 3.0, 2 * 0.5 - 1.0, 2 + 0.5, -3 + 0.25};
  double y[4] = {3 + u0[0] + 0.1, -1 + u0[1] + 0.2, 0.5 + 0.5 * u0[2] + 0.3, 0.25 + 2 * u0[3] + 0.4};
  for (int head = 0; head < 2; ++head) {
    double norm = std::hypot(y[2 * head], y[2 * head + 1]);
    for (int i = 0; i < 2; ++i)
      EXPECT_NEAR(qk[static_cast<size_t>(head)].value.item(i), std::sqrt(2.0) * y[2 * head + i] / norm, 1e-12);
  }
}

// Counts of the published block: linears 5,242,880, convolutions 332,800 with biases, temperature 2; cache 2·2·128 a
// token.
TEST(Cca, CountsOfTheZaya1Block) {
  CcaConfig c;
  c.width = 2048;
  c.n_head = 8;
  c.n_head_kv = 2;
  c.head_dim = 128;
  CcaMixer m(c);
  EXPECT_EQ(nn::parameter_count(m), 5'575'682);
  EXPECT_EQ(m.state_spec(DType::bf16).bytes_per_token(), 1024);
  EXPECT_EQ(m.state_spec(DType::i8).bytes_per_token(), 528);  // a scale a row and head
  EXPECT_EQ(m.state_spec(DType::bf16).fixed_bytes(), (2 * 1280 + 128) * 4);
  int64_t E = 2048, linears = 2 * E * E / 2 + 2 * E * E / 8;  // 2E²/C1 + 2E²/C2
  EXPECT_EQ(nn::parameter_count(m) - linears, 332'800 + 2);
}

}  // namespace
}  // namespace quern::mixers
