// Overrides of single config.json fields: they reach the place that the model reads, in every family and form of
// the file, and one that has no effect is refused by name.
#include "quern/models/config_overrides.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "quern/base/test_message.h"
#include "quern/infer/cache/session.h"
#include "tests/models/golden.h"

namespace quern {
namespace {

Json changed(const Json& config, const char* changes) {
  return models::override_config(nn::builtin_registry(), config, Json::parse(changes));
}

class OverrideRotaryBase : public testing::TestWithParam<const char*> {};

// The model that the changed configuration builds computes other logits.
TEST_P(OverrideRotaryBase, ChangesTheLogits) {
  Golden g(GetParam());
  auto before = load_golden(g, DType::f32, false);
  auto after = models::build_model(nn::builtin_registry(),
                                   changed(Json::read(g.folder / "config.json"), R"({"rope_theta": 100.0})"));
  std::map<std::string, Tensor> values;
  before->visit("", [&](const std::string& name, grad::Parameter& p) { values[name] = p.value; });
  after->visit("", [&](const std::string& name, grad::Parameter& p) { p.value = values.at(name); });
  const std::span<const int32_t> ids = std::span(g.tokens).first(32);
  EXPECT_GT(relative_error(infer::all_logits(*after, ids), infer::all_logits(*before, ids)), 1e-3);
}

INSTANTIATE_TEST_SUITE_P(All, OverrideRotaryBase,
                         testing::Values("llama-gqa", "llama-yarn", "qwen2-bias", "zamba2-2block-rope", "zaya-2-4x1",
                                         "zaya-5-sliding", "granite-h-moe", "bamba"),
                         [](const auto& i) {
                           std::string s = i.param;
                           std::replace(s.begin(), s.end(), '-', '_');
                           return s;
                         });

TEST(ConfigOverrides, ReachThePlaceThatIsRead) {
  const Json current = Json::parse(R"({"model_type": "llama", "rope_parameters": {"rope_theta": 1e4}})");
  EXPECT_EQ(changed(current, R"({"rope_theta": 5.0})").at("rope_parameters").at("rope_theta").as_double(), 5);
  EXPECT_EQ(changed(current, R"({"rope_theta": 5.0})").find("rope_theta"), nullptr);
  const Json old = Json::parse(R"({"model_type": "llama", "rope_theta": 1e4,
                                   "rope_scaling": {"type": "linear", "factor": 2.0}})");
  EXPECT_EQ(changed(old, R"({"rope_theta": 5.0})").at("rope_theta").as_double(), 5);
  const Json scaled = changed(current, R"({"rope_scaling": {"rope_type": "linear", "factor": 2.0}})");
  EXPECT_EQ(scaled.at("rope_parameters").at("factor").as_double(), 2) << "the old form's name for the same";
  EXPECT_EQ(scaled.at("rope_parameters").at("rope_theta").as_double(), 1e4) << "and nothing else changed";
}

TEST(ConfigOverrides, WithoutEffectAreRefused) {
  auto refused = [](const char* config, const char* changes) {
    return message_of([&] { changed(Json::parse(config), changes); });
  };
  EXPECT_NE(refused(R"({"model_type": "llama"})", R"({"rope_tetha": 5.0})").find("did you mean 'rope_theta'"),
            std::string::npos);
  EXPECT_NE(refused(R"({"model_type": "zamba"})", R"({"rope_theta": 5.0})").find("does not read it"),
            std::string::npos);
  EXPECT_NE(
      refused(R"({"model_type": "granitemoehybrid", "position_embedding_type": "nope"})", R"({"rope_theta": 5.0})")
          .find("does not read it"),
      std::string::npos);
  EXPECT_NE(
      refused(R"({"model_type": "zamba2", "n_mamba_heads": 80})", R"({"rope_theta": 5.0})").find("use_mem_rope"),
      std::string::npos);
  EXPECT_NE(refused(R"({"model_type": "llama", "rope_parameters": {"rope_theta": 1e4}})",
                    R"({"partial_rotary_factor": 0.5})")
                .find("partial_rotary_factor"),
            std::string::npos);
  EXPECT_EQ(refused(R"({"model_type": "llama"})", R"({"eos_token_id": 5, "rms_norm_eps": 1e-5})"), "");
}

}  // namespace
}  // namespace quern
