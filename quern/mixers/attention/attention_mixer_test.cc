// MHA, GQA and MQA as a layer: finite differences, splits, documents, and attention against its definition by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "quern/mixers/attention/attention_mixer.h"
#include "quern/nn/check_module.h"

namespace quern::mixers {
namespace {

struct Form {
  const char* name;
  int64_t n_head, n_head_kv, window;
  bool bias, qk_norm;
  double magnitude = 1;  // of rotated queries and keys
};
constexpr Form kForms[] = {{"mha", 4, 4, 0, false, false},
                           {"gqa", 4, 2, 0, true, false},
                           {"mqa_window", 4, 1, 3, false, true},
                           {"scaled", 4, 2, 0, false, false, 1.3}};

AttentionConfig config(const Form& f) {
  AttentionConfig c;
  c.width = 6;
  c.n_head = f.n_head;
  c.n_head_kv = f.n_head_kv;
  c.head_dim = 4;
  c.rotary_dims = 4;
  c.window = f.window;
  c.qkv_bias = c.o_bias = f.bias;
  c.qk_norm = f.qk_norm;
  c.rope.magnitude = f.magnitude;
  return c;
}

class Attention : public testing::TestWithParam<Form> {};

TEST_P(Attention, FiniteDifferences) {
  AttentionMixer m(config(GetParam()));
  grad::NamedParameters p = nn::randomized(m, 5, 0.7);
  grad::GradCheck c = grad::grad_check(
      [&](grad::Tape& t, const std::vector<grad::Var>& in) {
        return std::vector<grad::Var>{m.forward(t, in[0], Batch::documents({5, 1, 3}), 0)};
      },
      {grad::random_normal({9, 6}, 9)}, p);
  EXPECT_LT(c.worst, 1e-7) << c.where;
}

// In f32 with packed and plain weights, and packed to bf16 with a bf16 cache (values near 10, each step rounded to 8
// bits), against the whole in double.
TEST_P(Attention, AnySplitEqualsWholeInEveryPrecision) {
  constexpr int64_t kRows = 100, kWidth = 6;  // past one growth of the cache
  Tensor x = grad::random_normal({kRows, kWidth}, 3), x32 = x.to(DType::f32);
  grad::Tape t(grad::Tape::inference);
  AttentionMixer exact(config(GetParam()));
  nn::randomized(exact, 5, 0.7);
  auto rows = [](const Tensor& a, int64_t begin, int64_t n) { return a.narrow(0, begin, n).clone(); };
  Tensor whole = exact.forward(t, grad::Var(x), Batch::single(kRows), 0).value;
  Tensor second = exact.forward(t, grad::Var(rows(x, 30, 70)), Batch::single(70), 0).value;
  auto expect_rows = [&](const Tensor& part, const Tensor& all, int64_t at, double tolerance) {
    for (int64_t i = 0; i < part.size(); ++i)
      ASSERT_NEAR(part.item(i), all.item(at * kWidth + i), tolerance) << "row " << at + i / kWidth;
  };
  struct Precision {
    bool packed;
    DType dtype;
    double tolerance;
  };
  for (Precision p :
       {Precision{false, DType::f32, 2e-5}, Precision{true, DType::f32, 2e-5}, Precision{true, DType::bf16, 0.4}}) {
    AttentionMixer m(config(GetParam()));
    nn::randomized(m, 5, 0.7);
    m.visit("", [](const std::string&, grad::Parameter& q) { q.value = q.value.to(DType::f32); });
    if (p.packed) m.pack(p.dtype);
    for (const std::vector<int64_t>& split : {std::vector<int64_t>(kRows, 1), {40, 60}, {1, 2, 97}, {100}}) {
      SequenceState state({{0, 0, m.state_spec(p.dtype)}});
      int64_t at = 0;
      for (int64_t n : split) {
        expect_rows(m.forward(t, grad::Var(rows(x32, at, n)), Batch::resume({&state}, {n}), 0).value, whole, at,
                    p.tolerance);
        state.advance(n);
        at += n;
      }
    }
    Tensor documents = m.forward(t, grad::Var(x32), Batch::documents({30, 70}), 0).value;
    expect_rows(rows(documents, 0, 30), whole, 0, p.tolerance);
    expect_rows(rows(documents, 30, 70), second, 0, p.tolerance);
  }
}

TEST(AttentionConfig, ImpossibleSizesAreErrors) {
  AttentionConfig good = config(kForms[0]);
  for (auto spoil : std::initializer_list<void (*)(AttentionConfig&)>{
           [](auto& c) { c.width = 0; }, [](auto& c) { c.n_head_kv = 3; }, [](auto& c) { c.rotary_dims = 3; },
           [](auto& c) { c.rotary_dims = 6; }, [](auto& c) { c.head_dim = -4; }}) {
    AttentionConfig bad = good;
    spoil(bad);
    EXPECT_THROW(AttentionMixer{bad}, Error);
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, Attention, testing::ValuesIn(kForms),
                         [](const auto& i) { return std::string(i.param.name); });

TEST(State, TruncateForkAndAccount) {
  StateSpec spec{kv_parts(1, 2, 0, DType::f32)};
  SequenceState s({{0, 0, spec}});
  s.append(0, 0, 3).copy_from(Tensor::of<float>({3, 1, 2}, {1, 2, 3, 4, 5, 6}));
  s.append(0, 1, 3).fill(7);
  s.advance(3);
  EXPECT_EQ(s.bytes(), 2 * 3 * 2 * 4);
  SequenceState f = s.fork();
  s.truncate(1);
  s.append(0, 0, 1).fill(9);
  EXPECT_EQ(s.rows(0, 0).item(2), 9);
  EXPECT_EQ(f.rows(0, 0).item(2), 3);
  EXPECT_EQ(f.length(), 3);
  StateSpec with_tail = spec;
  with_tail.parts.push_back({.name = "tail", .shape = {2}});
  SequenceState t({{4, 0, with_tail}});
  t.append(0, 0, 2), t.append(0, 1, 2);
  t.advance(2);
  t.fixed(0, 2).fill(5);
  EXPECT_THROW(t.truncate(1), Error);
  t.truncate(0);
  EXPECT_EQ(t.fixed(0, 2).item(0), 0);
}

}  // namespace
}  // namespace quern::mixers
