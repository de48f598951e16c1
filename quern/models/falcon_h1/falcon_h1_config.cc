#include "quern/models/falcon_h1/falcon_h1_config.h"

#include "quern/base/config.h"

namespace quern::models {
namespace {

constexpr const char* kWhere = "config.json";

}  // namespace

FalconH1Config FalconH1Config::from_hf(const Json& j) {
  FalconH1Config c;
  from_json(j, c, kWhere);
  for (const auto& [key, size] :
       {std::pair{"mamba_d_ssm", &c.mamba_d_ssm}, {"num_key_value_heads", &c.num_key_value_heads}})
    if (const Json* v = j.find(key); v && v->is_null()) size->reset();
  if (c.mlp_multipliers.empty()) c.mlp_multipliers.assign(2, 1);
  if (c.ssm_multipliers.empty()) c.ssm_multipliers.assign(5, 1);
  c.source = j;
  c.check();
  return c;
}

void FalconH1Config::check() const {
  check_config_size("vocab_size", vocab_size, 1 << 24);
  check_config_size("hidden_size", hidden_size, 1 << 20);
  check_config_size("intermediate_size", intermediate_size, 1 << 22);
  check_config_size("num_hidden_layers", num_hidden_layers, 4096);
  check_config_size("num_attention_heads", num_attention_heads, 4096);
  check_config_size("num_key_value_heads", kv_heads(), 4096);
  check_config_size("head_dim", head_size(), 1 << 16);
  check_config_size("max_position_embeddings", max_position_embeddings, int64_t{1} << 31);
  if (num_attention_heads % kv_heads())
    fail("{}, num_attention_heads: {} is not a multiple of num_key_value_heads {}", kWhere, num_attention_heads,
         kv_heads());
  if (head_size() % 2) fail("{}, head_dim: {} is odd, rotary embedding needs pairs", kWhere, head_size());
  if (hidden_act != "silu") fail("{}, hidden_act: '{}' is not supported, expected silu", kWhere, hidden_act);
  if (mamba_rms_norm && mamba_norm_before_gate)
    fail("{}, mamba_norm_before_gate: true with mamba_rms_norm is not supported, expected false", kWhere);
  if (mamba.proj_bias != projectors_bias)
    fail("{}, projectors_bias: {} with mamba_proj_bias {} is not supported, expected both or neither", kWhere,
         projectors_bias, mamba.proj_bias);
  if (mlp_multipliers.size() != 2)
    fail("{}, mlp_multipliers: {} of them, expected 2", kWhere, mlp_multipliers.size());
  if (ssm_multipliers.size() != 5)
    fail("{}, ssm_multipliers: {} of them, expected 5", kWhere, ssm_multipliers.size());
  mixer(), rope();
}

mixers::Mamba2Config FalconH1Config::mixer() const {
  mixers::Mamba2Config m = mamba.mixer(hidden_size, rms_norm_eps, mamba_d_ssm);
  m.norm = mamba_rms_norm;
  m.factors = ssm_multipliers;
  read_time_step_limit(source, m);
  return m;
}

RopeScaling FalconH1Config::rope() const {
  return read_rope(source, {.rotary_dims = head_size(), .theta = 1e4, .context = max_position_embeddings});
}

Json FalconH1Config::to_hf() const {
  Json j = source.is_object() ? source : Json::object();
  const bool head = j.find("head_dim") != nullptr;
  write_json(j, *this);
  if (!head) j.erase("head_dim");
  if (!j.find("architectures") || j.find("architectures")->is_null())
    j.set("architectures", Json(Json::Array{Json("FalconH1ForCausalLM")}));
  return j;
}

}  // namespace quern::models
