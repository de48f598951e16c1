// The matrix memory against automatic differentiation; the gated delta rule as a layer in its forms: finite
// differences, any split of a sequence against the whole, documents apart.
#include "quern/mixers/gated_delta/gated_delta_mixer.h"

#include "quern/mixers/gated_delta/fast_weights.h"
#include "quern/mixers/ssm_test_util.h"
#include "quern/tensor/safetensors.h"

namespace quern::mixers {
namespace {

void expect_near(const Tensor& got, const Tensor& want, double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (int64_t i = 0; i < want.size(); ++i)
    ASSERT_NEAR(got.item(i), want.item(i), tolerance * std::max(1.0, std::abs(want.item(i)))) << what << " " << i;
}

template <class T>
void expect_golden(const std::string& name, bool correct, double tolerance) {
  const SafetensorsFile goldens(QUERN_SOURCE_DIR "/tests/goldens/ovq/memories.safetensors");
  auto golden = [&](const char* what) { return goldens.tensor(name + "/" + what); };
  auto as = [&](const char* what) { return golden(what).to(dtype_of<T>::value); };
  const Tensor q = as("q"), k = as("k"), v = as("v"), g = as("g"), beta = as("beta"), weight = as("weight");
  const int64_t n = q.dim(0), d = q.dim(1), dv = v.dim(1), stretches = (n + kFastWeightsKept - 1) / kFastWeightsKept;
  ASSERT_GT(stretches, 1);
  FastWeights<T> x{q.view<const T, 2>(), k.view<const T, 2>(), v.view<const T, 2>(), {}, {}, correct};
  const bool gates = name != "linear";
  if (name == "gated_delta") x.g = g.view<const T, 1>();
  if (gates) x.beta = beta.view<const T, 1>();
  auto like = [](const Tensor& t) { return Tensor::empty(t.shape(), t.dtype()); };
  const Tensor out = like(v), gq = like(q), gk = like(k), gv = like(v), gg = like(g), gbeta = like(beta);
  std::vector<T> state(static_cast<size_t>(d * dv), T(0)), kept(static_cast<size_t>(stretches * d * dv));
  Arena scratch;
  fast_weights<T>(x, state.data(), out.view<T, 2>(), kept.data(), scratch);
  fast_weights_backward<T>(x,
                           {.kept = kept.data(),
                            .gout = weight.view<const T, 2>(),
                            .gq = gq.view<T, 2>(),
                            .gk = gk.view<T, 2>(),
                            .gv = gv.view<T, 2>(),
                            .gg = gg.view<T, 1>(),
                            .gbeta = gbeta.view<T, 1>()},
                           scratch);
  expect_near(out, golden("out"), tolerance, name + " out");
  expect_near(gq, golden("gq"), tolerance, name + " gq");
  expect_near(gk, golden("gk"), tolerance, name + " gk");
  expect_near(gv, golden("gv"), tolerance, name + " gv");
  if (x.g) expect_near(gg, golden("gg"), tolerance, name + " gg");
  if (x.beta) expect_near(gbeta, golden("gbeta"), tolerance, name + " gbeta");
}

TEST(FastWeights, AreAutomaticDifferentiations) {
  for (const char* name : {"linear", "delta", "gated_delta"}) {
    const bool correct = std::string(name) != "linear";
    expect_golden<double>(name, correct, 1e-12);
    expect_golden<float>(name, correct, 2e-5);
  }
}

GatedDeltaConfig config(int64_t heads, int64_t d, int64_t taps, bool decay, bool gate, bool shift) {
  GatedDeltaConfig c;
  c.width = 6;
  c.n_head = heads;
  c.head_dim = d;
  c.taps = taps;
  c.decay = decay;
  c.gate = gate;
  c.key_shift = shift;
  return c;
}

TEST(GatedDelta, FiniteDifferences) {
  for (const GatedDeltaConfig& c : {config(2, 3, 4, true, true, false), config(1, 4, 0, false, false, true),
                                    config(2, 2, 2, true, false, true)}) {
    GatedDeltaMixer m(c);
    expect_gradients(m, c.width);
  }
}

TEST(GatedDelta, AnySplitAndDocuments) {
  for (const GatedDeltaConfig& c : {config(2, 16, 4, true, true, false), config(1, 8, 0, false, false, true)})
    expect_any_split([&] { return std::make_unique<GatedDeltaMixer>(c); }, c.width);
}

TEST(GatedDelta, MistakesAreNamed) {
  EXPECT_NE(message_of([] { GatedDeltaMixer m(config(1, 4, 9, true, true, false)); }).find("taps 9"),
            std::string::npos);
  EXPECT_NE(message_of([] { GatedDeltaMixer m(config(0, 4, 4, true, true, false)); }).find("n_head 0"),
            std::string::npos);
}

}  // namespace
}  // namespace quern::mixers
