// MHA, GQA and MQA as a layer: finite differences, splits, documents, and attention against its definition by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "quern/mixers/attention/attention_mixer.h"
#include "quern/nn/check_module.h"

namespace quern {
namespace {

struct Form {
  const char* name;
  int64_t n_head, n_head_kv, window;
  bool bias, qk_norm;
};
constexpr Form kForms[] = {
    {"mha", 4, 4, 0, false, false}, {"gqa", 4, 2, 0, true, false}, {"mqa_window", 4, 1, 3, false, true}};

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
  return c;
}

class Attention : public testing::TestWithParam<Form> {};

TEST_P(Attention, FiniteDifferences) {
  AttentionMixer m(config(GetParam()));
  NamedParameters p = randomised(m, 5, 0.7);
  GradCheck c = grad_check(
      [&](Tape& t, const std::vector<Var>& in) {
        return std::vector<Var>{m.forward(t, in[0], Batch::documents({5, 1, 3}), 0)};
      },
      {random_normal({9, 6}, 9)}, p);
  EXPECT_LT(c.worst, 1e-7) << c.where;
}

TEST_P(Attention, AnySplitEqualsWhole) {
  AttentionMixer m(config(GetParam()));
  randomised(m, 5, 0.7);
  m.visit("", [](const std::string&, Parameter& p) { p.value = p.value.to(DType::f32); });
  m.pack(DType::f32);
  Tensor x = random_normal({100, 6}, 3, DType::f32);  // past one growth of the cache
  Tape t(Tape::inference);
  Tensor whole = m.forward(t, Var(x), Batch::single(100), 0).value;
  for (const std::vector<int64_t>& split : {std::vector<int64_t>(100, 1), {40, 60}, {1, 2, 97}}) {
    SequenceState state({{0, 0, m.state_spec(DType::f32)}});
    int64_t at = 0;
    for (int64_t n : split) {
      Tensor part = m.forward(t, Var(x.narrow(0, at, n).clone()), Batch::resume({&state}, {n}), 0).value;
      state.advance(n);
      for (int64_t i = 0; i < part.size(); ++i)
        ASSERT_NEAR(part.item(i), whole.item(at * 6 + i), 2e-5) << "row " << at;
      at += n;
    }
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
}  // namespace quern
