// Every model asks its tape for a parameter before it reads it, so that values which are still on their way from
// other ranks can be waited for there (train/zero/zero.h): all values are NaN until they are asked for.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/models/golden.h"

namespace quern {
namespace {

double loss_of(models::Model& model, bool late, bool recompute) {
  std::map<const grad::Parameter*, Tensor> values;
  model.visit("", [&](const std::string&, grad::Parameter& p) {
    if (!late || !p.trainable || values.contains(&p)) return;
    values[&p] = p.value.clone();
    std::ranges::fill(p.value.span<float>(), NAN);
  });
  const int64_t n = 40;
  std::vector<int32_t> ids, targets;
  for (int64_t i = 0; i < n; ++i) ids.push_back(static_cast<int32_t>(i * i % 11)), targets.push_back(ids.back() / 2);
  grad::Tape tape;
  tape.recompute_layers = recompute;
  tape.on_parameter = [&](grad::Parameter& p) {
    if (const auto v = values.find(&p); v != values.end()) p.value.copy_from(v->second), values.erase(v);
  };
  const grad::Var loss = model.loss(tape, model.hidden(tape, ids, mixers::Batch::single(n)), targets);
  EXPECT_TRUE(values.empty()) << values.size() << " parameters were never asked for";
  return loss.value.item();
}

class ParameterOrder : public testing::TestWithParam<const char*> {};

TEST_P(ParameterOrder, ValuesMayComeWhenTheyAreAskedFor) {
  const Golden g(GetParam());
  const auto model = load_golden(g, DType::f32, false);
  for (bool recompute : {false, true}) {
    const double want = loss_of(*model, false, recompute);
    ASSERT_TRUE(std::isfinite(want));
    EXPECT_EQ(loss_of(*model, true, recompute), want) << (recompute ? "layers recomputed" : "layers kept");
  }
}

INSTANTIATE_TEST_SUITE_P(Families, ParameterOrder,
                         testing::Values("zaya-2-4x2", "zaya-5-4x2", "zaya-5-sliding", "zaya-2-bias", "llama-gqa",
                                         "mistral-window", "qwen2-bias", "zamba-6", "zamba2-1block",
                                         "zamba2-2block-adapters", "zamba2-2block-rope", "granite-h-moe", "bamba"));

TEST(ParameterOrderOfAHybrid, IsKeptByEveryMixer) {
  const auto model =
      models::build_model(nn::builtin_registry(), Json::parse(R"({"model_type":"hybrid","vocab_size":50,
    "hidden_size":16,"intermediate_size":24,
    "mixers":{"near":{"type":"attention","n_head":2,"n_head_kv":1,"head_dim":8,"rotary_dims":8,"window":8},
              "far":{"type":"ovq","n_head":2,"head_dim":8,"rows":12,"chunk":8},
              "delta":{"type":"gated_delta","n_head":1,"head_dim":8},
              "linear":{"type":"linear_attention","n_head":1,"head_dim":8},
              "codes":{"type":"vq_attention","n_head":1,"head_dim":8,"codes":6}},
    "layers":["near","far","delta","linear","codes"]})"));
  nn::initialize(*model, 4);
  const double want = loss_of(*model, false, false);
  EXPECT_EQ(loss_of(*model, true, false), want);
}

}  // namespace
}  // namespace quern
