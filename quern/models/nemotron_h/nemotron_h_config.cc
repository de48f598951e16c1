#include "quern/models/nemotron_h/nemotron_h_config.h"

#include "quern/base/config.h"

namespace quern::models {
namespace {

constexpr const char* kWhere = "config.json";

// Names that the keys of Mamba layers had before.
constexpr std::pair<const char*, const char*> kOtherNames[] = {{"mamba_n_groups", "n_groups"},
                                                               {"mamba_d_conv", "conv_kernel"},
                                                               {"mamba_conv_bias", "use_conv_bias"},
                                                               {"layer_types", "layers_block_type"}};

std::vector<std::string> named_layers(const std::string& pattern) {
  std::vector<std::string> names;
  for (const char c : pattern) switch (c) {
      case 'M':
        names.push_back("mamba");
        break;
      case '*':
        names.push_back("attention");
        break;
      case '-':
        names.push_back("mlp");
        break;
      case 'E':
        names.push_back("moe");
        break;
      default:
        fail("{}, hybrid_override_pattern: '{}', expected letters M, * and -", kWhere, pattern);
    }
  return names;
}

}  // namespace

NemotronHConfig NemotronHConfig::from_hf(const Json& j) {
  NemotronHConfig c;
  Json current = j;
  for (const auto& [old, name] : kOtherNames)
    if (const Json* v = j.find(old); v && !v->is_null() && !j.find(name)) current.set(name, *v);
  from_json(current, c, kWhere);
  if (const Json* n = j.find("num_key_value_heads"); n && n->is_null()) c.num_key_value_heads.reset();
  if (const Json* p = j.find("hybrid_override_pattern"); p && !p->is_null() && c.layers_block_type.empty())
    c.layers_block_type = named_layers(p->as_string("config.json, hybrid_override_pattern"));
  c.source = j;
  c.check();
  return c;
}

void NemotronHConfig::check() const {
  check_config_size("vocab_size", vocab_size, 1 << 24);
  check_config_size("hidden_size", hidden_size, 1 << 20);
  check_config_size("intermediate_size", intermediate_size, 1 << 22);
  check_config_size("num_attention_heads", num_attention_heads, 4096);
  check_config_size("num_key_value_heads", kv_heads(), 4096);
  check_config_size("head_dim", head_dim, 1 << 16);
  check_config_size("max_position_embeddings", max_position_embeddings, int64_t{1} << 31);
  check_config_size("layers_block_type", static_cast<int64_t>(layers_block_type.size()), 4096);
  check_config_size("mamba_num_heads", mamba_num_heads, 1 << 16);
  check_config_size("mamba_head_dim", mamba_head_dim, 1 << 16);
  check_config_size("n_groups", n_groups, mamba_num_heads);
  check_config_size("ssm_state_size", ssm_state_size, 1 << 16);
  check_config_size("mamba_num_heads · mamba_head_dim", mamba_num_heads * mamba_head_dim, 1 << 22);
  check_config_size("n_groups · ssm_state_size", n_groups * ssm_state_size, 1 << 20);
  if (num_attention_heads % kv_heads())
    fail("{}, num_attention_heads: {} is not a multiple of num_key_value_heads {}", kWhere, num_attention_heads,
         kv_heads());
  if (mlp_hidden_act != "relu2")
    fail("{}, mlp_hidden_act: '{}' is not supported, expected relu2", kWhere, mlp_hidden_act);
  if (mamba_hidden_act != "silu")
    fail("{}, mamba_hidden_act: '{}' is not supported, expected silu", kWhere, mamba_hidden_act);
  for (const char* key : {"attention_bias", "mamba_proj_bias"})
    if (const Json* b = source.find(key); b && *b == Json(true))
      fail("{}, {}: true is not supported, expected false", kWhere, key);
  layers();
}

std::vector<NemotronLayer> NemotronHConfig::layers() const {
  std::vector<NemotronLayer> kinds;
  for (const std::string& t : layers_block_type) {
    if (t == "moe")
      fail(
          "{}, layers_block_type: mixtures of experts ('moe', E in hybrid_override_pattern) are not supported in "
          "Nemotron-H",
          kWhere);
    if (t == "mamba" || t == "linear_attention")
      kinds.push_back(NemotronLayer::mamba);
    else if (t == "attention" || t == "full_attention")
      kinds.push_back(NemotronLayer::attention);
    else if (t == "mlp")
      kinds.push_back(NemotronLayer::mlp);
    else
      fail("{}, layers_block_type: '{}', expected mamba, attention or mlp", kWhere, t);
  }
  return kinds;
}

// transformers puts time_step_min under the steps of a prompt alone, which no model was trained with (as in Zamba2,
// docs/numerics.md); bounds of time_step_limit are followed.
mixers::Mamba2Config NemotronHConfig::mixer() const {
  mixers::Mamba2Config m;
  m.width = hidden_size;
  m.n_head = mamba_num_heads;
  m.head_dim = mamba_head_dim;
  m.n_state = ssm_state_size;
  m.n_group = n_groups;
  m.taps = conv_kernel;
  m.conv_bias = use_conv_bias;
  m.proj_bias = use_bias;
  m.norm_eps = layer_norm_epsilon;
  read_time_step_limit(source, m);
  return m;
}

Json NemotronHConfig::to_hf() const {
  Json j = source.is_object() ? source : Json::object();
  for (const auto& [old, name] : kOtherNames) j.erase(old);
  j.erase("hybrid_override_pattern");
  write_json(j, *this);
  j.set("num_hidden_layers", static_cast<int64_t>(layers_block_type.size()));
  if (!j.find("architectures") || j.find("architectures")->is_null())
    j.set("architectures", Json(Json::Array{Json("NemotronHForCausalLM")}));
  return j;
}

}  // namespace quern::models
