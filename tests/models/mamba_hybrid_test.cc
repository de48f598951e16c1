// Granite-4 hybrids, Bamba, Falcon-H1 and Nemotron-H: names of other layouts, bounds of the time step, experts over
// ranks, and mistakes in config.json. Logits and gradients are in parity_test.cc (tools/oracles/models/make_mamba_hybrids.py).
#include <gtest/gtest.h>
#include <unistd.h>

#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/comm/in_process.h"
#include "quern/infer/cache/session.h"
#include "quern/models/bamba/granite_model.h"
#include "quern/models/config_file.h"
#include "quern/models/falcon_h1/falcon_h1_model.h"
#include "quern/models/nemotron_h/nemotron_h_model.h"
#include "tests/models/golden.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

void expect_equal(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.shape(), b.shape());
  for (int64_t i = 0; i < a.size(); ++i) ASSERT_EQ(a.item(i), b.item(i)) << i;
}

TEST(GraniteNames, ThoseOfTransformersWhileItRunsAreReadToo) {
  Golden g("granite-h-moe");
  const fs::path folder = fs::temp_directory_path() / fmt::format("quern_granite_{}", ::getpid());
  fs::create_directories(folder);
  const SafetensorsFile file(g.folder / "model.safetensors");
  auto model = load_golden(g, DType::f32, false);
  NamedTensors tensors;
  int64_t renamed = 0;
  for (const auto& [name, e] : file.entries()) {
    const std::vector<std::string> other = model->other_names(name);
    renamed += static_cast<int64_t>(other.size());
    tensors.emplace_back(other.empty() ? name : other[0], file.tensor(name));
  }
  EXPECT_EQ(renamed, 3 * 3);
  save_safetensors(folder / "model.safetensors", tensors);
  Json config = Json::read(g.folder / "config.json");
  config.set("layers_block_type", *config.find("layer_types"));  // as old files call it
  config.erase("layer_types");
  write_file(folder / "config.json", config.dump());
  auto again = models::load_model(nn::builtin_registry(), folder, {.pack = false});
  fs::remove_all(folder);
  const auto ids = std::span(g.tokens).first(32);
  expect_equal(infer::all_logits(*again, ids), infer::all_logits(*model, ids));
}

TEST(GraniteExperts, AreSharedByRanks) {
  Golden g("granite-h-moe");
  const auto ids = std::span(g.tokens).first(48);
  const Tensor want = infer::all_logits(*load_golden(g, DType::f32, true), ids);
  EXPECT_FALSE(load_golden(Golden("granite-h"), DType::f32, true)->share_experts(nullptr));
  comm::run_ranks(2, [&](comm::Communicator& c) {
    auto model = load_golden(g, DType::f32, true);
    EXPECT_TRUE(model->share_experts(&c));
    EXPECT_LE(relative_error(infer::all_logits(*model, ids), want), 1e-5);
  });
}

class GraniteConfigs : public testing::Test {
 protected:
  static models::GraniteConfig with(const char* changes) {
    Json c = Json::parse(R"({"model_type": "granitemoehybrid", "num_hidden_layers": 2, "hidden_size": 64})");
    const Json more = Json::parse(changes);
    for (const auto& [key, value] : more.as_object("changes")) c.set(key, value);
    return models::GraniteConfig::from_hf(c);
  }
  static std::string message(const char* changes) {
    return message_of([&] { with(changes); });
  }
};

TEST_F(GraniteConfigs, TimeStepsMayBeBounded) {
  auto bounds = [](const char* c) { return with(c).mixer(); };
  EXPECT_EQ(bounds(R"({"mamba_n_heads": 8})").dt_max, std::nullopt);
  EXPECT_EQ(bounds(R"({"mamba_n_heads": 8, "time_step_limit": [0.0, {"__float__": "Infinity"}]})").dt_max,
            std::nullopt);
  const mixers::Mamba2Config both = bounds(R"({"mamba_n_heads": 8, "time_step_limit": [0.01, 0.5]})");
  EXPECT_EQ(both.dt_min, 0.01);
  EXPECT_EQ(both.dt_max, 0.5);
}

TEST_F(GraniteConfigs, NullHeadsAreAsManyAsQueryHeads) {
  EXPECT_EQ(with(R"({"model_type": "bamba", "mamba_n_heads": 8, "hidden_size": 256})").kv_heads(), 8);
  EXPECT_EQ(with(R"({"model_type": "bamba", "mamba_n_heads": 8, "hidden_size": 256,
                     "num_key_value_heads": null})")
                .kv_heads(),
            32);
}

TEST_F(GraniteConfigs, ExpertsOfATokenAreWrittenDown) {
  EXPECT_EQ(with(R"({"mamba_n_heads": 8})").to_hf().at("num_experts_per_tok").as_int(), 2);
  EXPECT_EQ(with(R"({"mamba_n_heads": 8, "num_local_experts": 0})").to_hf().find("num_experts_per_tok"), nullptr);
}

TEST_F(GraniteConfigs, MistakesAreNamed) {
  auto has = [](const char* changes, const char* part) {
    const std::string m = message(changes);
    EXPECT_NE(m.find(part), std::string::npos) << part << " | " << m;
  };
  has(R"({"mamba_n_heads": 7})", "mamba_n_heads: 7 does not divide the 128 inner channels");
  has(R"({"mamba_n_heads": 8, "mamba_d_head": 32})", "mamba_d_head: 32, expected 16");
  has(R"({"mamba_n_heads": 8, "layer_types": ["mamba"]})", "layer_types: 1 entries for 2 layers");
  has(R"({"mamba_n_heads": 8, "layer_types": ["mamba", "conv"]})", "layer_types: 'conv'");
  has(R"({"mamba_n_heads": 8, "num_experts_per_tok": 9})", "num_experts_per_tok: 9 is outside 1 … 8");
  has(R"({"mamba_n_heads": 8, "position_embedding_type": "alibi"})", "position_embedding_type: 'alibi'");
  has(R"({"mamba_n_heads": 8, "hidden_act": "gelu"})", "hidden_act: 'gelu'");
  has(R"({"mamba_n_heads": 8, "residual_multiplier": 0})", "residual_multiplier: 0 is not positive");
  has(R"({"mamba_n_heads": 8, "time_step_limit": [0.5, 0.1]})", "time_step_limit");
  for (const char* bound : {"NaN", "-Infinity"})
    has(fmt::format(R"({{"mamba_n_heads": 8, "time_step_limit": [0, {{"__float__": "{}"}}]}})", bound).c_str(),
        "time_step_limit");
  has(R"({"mamba_n_heads": 8192, "hidden_size": 65536, "mamba_n_groups": 8192, "mamba_d_state": 65536})",
      "mamba_n_groups · mamba_d_state: 536870912 is outside 1");
  has(R"({"model_type": "bamba", "mamba_n_heads": 8, "attn_layer_indices": [2]})", "attn_layer_indices: 2");
  EXPECT_EQ(message(R"({"mamba_n_heads": 8})"), "");
}

TEST(FalconConfigs, MistakesAreNamed) {
  auto has = [](const char* changes, const char* part) {
    Json c = Json::parse(R"({"model_type": "falcon_h1", "hidden_size": 64, "num_attention_heads": 4,
                             "num_key_value_heads": 2, "mamba_n_heads": 16, "mamba_d_ssm": 128})");
    const Json more = Json::parse(changes);
    for (const auto& [key, value] : more.as_object("changes")) c.set(key, value);
    const std::string m = message_of([&] { models::FalconH1Config::from_hf(c); });
    EXPECT_EQ(m.empty(), std::string(part).empty()) << m;
    EXPECT_NE(m.find(part), std::string::npos) << part << " | " << m;
  };
  has(R"({})", "");
  has(R"({"mamba_rms_norm": true})", "mamba_norm_before_gate: true");
  has(R"({"mamba_proj_bias": true})", "projectors_bias: false with mamba_proj_bias true");
  has(R"({"mlp_multipliers": [1.0]})", "mlp_multipliers: 1 of them");
  has(R"({"ssm_multipliers": [1.0, 2.0]})", "ssm_multipliers: 2 of them");
  has(R"({"mamba_n_heads": 7})", "mamba_n_heads: 7 does not divide the 128 inner channels");
}

TEST(FalconConfigs, NullHeadsAreAsManyAsQueryHeads) {
  Json c = Json::parse(R"({"model_type": "falcon_h1", "hidden_size": 64, "num_attention_heads": 16,
                           "mamba_n_heads": 16, "mamba_d_ssm": 128})");
  EXPECT_EQ(models::FalconH1Config::from_hf(c).kv_heads(), 8);
  c.set("num_key_value_heads", Json());
  EXPECT_EQ(models::FalconH1Config::from_hf(c).kv_heads(), 16);
}

TEST(NemotronConfigs, PatternsAreLayers) {
  Golden g("nemotron-h");
  Json config = Json::read(g.folder / "config.json");
  config.erase("layers_block_type"), config.erase("layer_types");
  config.set("hybrid_override_pattern", "M-*M-");
  const models::NemotronHConfig c = models::NemotronHConfig::from_hf(config);
  using enum models::NemotronLayer;
  EXPECT_EQ(c.layers(), (std::vector<models::NemotronLayer>{mamba, mlp, attention, mamba, mlp}));
  auto has = [&](const char* key, Json value, const char* part) {
    Json changed = config;
    changed.set(key, std::move(value));
    const std::string m = message_of([&] { models::NemotronHConfig::from_hf(changed); });
    EXPECT_NE(m.find(part), std::string::npos) << part << " | " << m;
  };
  has("hybrid_override_pattern", "ME", "mixtures of experts ('moe', E in hybrid_override_pattern) are not supported");
  has("hybrid_override_pattern", "MX", "hybrid_override_pattern: 'MX'");
  has("mlp_hidden_act", "silu", "mlp_hidden_act: 'silu'");
  has("attention_bias", true, "attention_bias: true is not supported");
  has("ssm_state_size", 65536, "");
  has("mamba_head_dim", 65536, "");
  config.set("mamba_num_heads", 65536), config.set("n_groups", 65536);
  has("mamba_head_dim", 65536, "mamba_num_heads · mamba_head_dim: 4294967296 is outside 1");
  has("ssm_state_size", 65536, "n_groups · ssm_state_size: 4294967296 is outside 1");
  config.set("num_attention_heads", 16), config.set("num_key_value_heads", Json());
  config.set("mamba_num_heads", 8), config.set("n_groups", 2);
  EXPECT_EQ(models::NemotronHConfig::from_hf(config).kv_heads(), 16);
}

TEST(NemotronNames, ThoseOfTransformersWhileItRunsAreReadToo) {
  Golden g("nemotron-h");
  const fs::path folder = fs::temp_directory_path() / fmt::format("quern_nemotron_{}", ::getpid());
  fs::create_directories(folder);
  auto model = load_golden(g, DType::f32, false);
  NamedTensors tensors;
  model->visit("", [&](const std::string& name, grad::Parameter& p) { tensors.emplace_back(name, p.value); });
  EXPECT_TRUE(tensors[0].first.starts_with("model.")) << tensors[0].first;  // backbone. in the golden
  save_safetensors(folder / "model.safetensors", tensors);
  // As Python writes an infinite bound.
  std::string config = read_file(g.folder / "config.json");
  config.insert(config.find('{') + 1, R"("a": "Infinity \" NaN", "limits": [0.0, Infinity, -Infinity, NaN],)");
  write_file(folder / "config.json", config);
  const Json read = models::read_config_file(folder / "config.json");
  EXPECT_EQ(read.at("a").as_string(), "Infinity \" NaN");
  EXPECT_EQ(read.at("limits").as_array()[2].at("__float__").as_string(), "-Infinity");
  auto again = models::load_model(nn::builtin_registry(), folder, {.pack = false});
  fs::remove_all(folder);
  const auto ids = std::span(g.tokens).first(32);
  expect_equal(infer::all_logits(*again, ids), infer::all_logits(*model, ids));
}

}  // namespace
}  // namespace quern
