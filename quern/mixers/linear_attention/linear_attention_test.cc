// Linear attention as a layer: finite differences, any split of a sequence against the whole, documents apart, and
// the layer against its sum written out. The memory itself is tested in gated_delta.
#include "quern/mixers/linear_attention/linear_attention_mixer.h"

#include "quern/mixers/ssm_test_util.h"

namespace quern::mixers {
namespace {

LinearAttentionConfig config(int64_t heads, int64_t d, bool shift, bool unit = true) {
  LinearAttentionConfig c;
  c.width = 6;
  c.n_head = heads;
  c.head_dim = d;
  c.key_shift = shift;
  c.unit = unit;
  return c;
}

TEST(LinearAttention, FiniteDifferences) {
  for (const LinearAttentionConfig& c : {config(2, 3, false), config(1, 4, true), config(2, 3, true, false)}) {
    LinearAttentionMixer m(c);
    expect_gradients(m, c.width);
  }
}

TEST(LinearAttention, AnySplitAndDocuments) {
  for (bool shift : {false, true})
    for (bool unit : {false, true})
      expect_any_split([&] { return std::make_unique<LinearAttentionMixer>(config(2, 8, shift, unit)); }, 6);
}

void expect_its_sum(bool of_unit_vectors) {
  const LinearAttentionConfig c = config(1, 4, true, of_unit_vectors);
  LinearAttentionMixer m(c);
  std::map<std::string, Tensor> w;
  for (auto& [name, p] : nn::randomized(m, 3)) w[name] = p->value;
  constexpr int64_t T = 7, D = 6, d = 4;
  const Tensor x = grad::random_normal({T, D}, 4);
  grad::Tape tape(grad::Tape::inference);
  const Tensor got = m.forward(tape, grad::Var(x), Batch::single(T), 0).value;
  auto project = [&](const char* name, int64_t t) {
    std::vector<double> y(d, 0.0);
    for (int64_t i = 0; t >= 0 && i < d; ++i)
      for (int64_t k = 0; k < D; ++k) y[static_cast<size_t>(i)] += w[name].item(i * D + k) * x.item(t * D + k);
    return y;
  };
  auto unit = [&](std::vector<double> y) {
    if (!of_unit_vectors) return y;
    double squares = 0;
    for (double v : y) squares += v * v;
    for (double& v : y) v /= std::sqrt(squares);
    return y;
  };
  for (int64_t t = 0; t < T; ++t) {
    const std::vector<double> q = unit(project("q_proj.weight", t));
    std::vector<double> o(d, 0.0);
    for (int64_t s = 0; s <= t; ++s) {
      std::vector<double> k = project("k_proj.weight", s), before = project("k_proj.weight", s - 1);
      for (size_t i = 0; i < d; ++i) {
        const double share = 1 / (1 + std::exp(-w["key_shift"].item(static_cast<int64_t>(i))));
        k[i] = share * k[i] + (1 - share) * before[i];
      }
      k = unit(k);
      double score = 0;
      for (size_t i = 0; i < d; ++i) score += q[i] * k[i];
      const std::vector<double> v = project("v_proj.weight", s);
      for (size_t i = 0; i < d; ++i) o[i] += score * v[i];
    }
    double squares = 0;
    for (double v : o) squares += v * v;
    for (int64_t i = 0; i < D; ++i) {
      double y = 0;
      for (int64_t j = 0; j < d; ++j)
        y += w["o_proj.weight"].item(i * d + j) * w["o_norm.weight"].item(j) * o[static_cast<size_t>(j)] /
             std::sqrt(squares / d + 1e-5);
      EXPECT_NEAR(got.item(t * D + i), y, 1e-10) << t;
    }
  }
}

TEST(LinearAttention, IsItsSum) {
  expect_its_sum(true);
  expect_its_sum(false);
}

}  // namespace
}  // namespace quern::mixers
