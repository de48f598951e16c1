#include "quern/models/bamba/granite_config.h"

#include <algorithm>

#include "quern/base/config.h"

namespace quern::models {
namespace {

constexpr const char* kWhere = "config.json";

const Json* rope_json(const Json& j) {
  for (const char* key : {"rope_parameters", "rope_scaling"})
    if (const Json* r = j.find(key); r && r->is_object()) return r;
  return nullptr;
}

// Factors that Granite has and Bamba lacks; null is 1.
constexpr std::pair<const char*, std::optional<double> GraniteConfig::*> kFactors[] = {
    {"embedding_multiplier", &GraniteConfig::embedding_multiplier},
    {"attention_multiplier", &GraniteConfig::attention_multiplier},
    {"residual_multiplier", &GraniteConfig::residual_multiplier},
    {"logits_scaling", &GraniteConfig::logits_scaling}};

}  // namespace

GraniteConfig GraniteConfig::from_hf(const Json& j) {
  GraniteConfig c;
  Json current = j;
  if (const Json* v = j.find("layers_block_type"); v && !j.find("layer_types")) current.set("layer_types", *v);
  if (j.at("model_type", kWhere) == Json("bamba")) {  // its layer_types follow from attn_layer_indices
    c.vocab_size = 128000, c.intermediate_size = 14336, c.rms_norm_eps = 1e-5, c.max_position_embeddings = 262144;
    c.num_key_value_heads = 8;
    current.erase("layer_types");
  }
  from_json(current, c, kWhere);
  if (const Json* n = j.find("num_key_value_heads"); n && n->is_null()) c.num_key_value_heads.reset();
  c.source = j;
  c.check();
  return c;
}

void GraniteConfig::check() const {
  check_config_size("vocab_size", vocab_size, 1 << 24);
  check_config_size("hidden_size", hidden_size, 1 << 20);
  check_config_size("num_hidden_layers", num_hidden_layers, 4096);
  check_config_size("num_attention_heads", num_attention_heads, 4096);
  check_config_size("num_key_value_heads", kv_heads(), 4096);
  check_config_size("max_position_embeddings", max_position_embeddings, int64_t{1} << 31);
  if (experts() == 0 || ffn() != 0)
    check_config_size(bamba() ? "intermediate_size" : "shared_intermediate_size", ffn(), 1 << 22);
  if (experts() != 0) {
    check_config_size("num_local_experts", experts(), 1 << 16);
    check_config_size("num_experts_per_tok", num_experts_per_tok.value_or(2), experts());
    check_config_size("intermediate_size", intermediate_size, 1 << 22);
  }
  if (hidden_size % num_attention_heads)
    fail("{}, num_attention_heads: {} does not divide hidden_size {}", kWhere, num_attention_heads, hidden_size);
  if (num_attention_heads % kv_heads())
    fail("{}, num_attention_heads: {} is not a multiple of num_key_value_heads {}", kWhere, num_attention_heads,
         kv_heads());
  if (hidden_act != "silu") fail("{}, hidden_act: '{}' is not supported, expected silu", kWhere, hidden_act);
  if (position_embedding_type && *position_embedding_type != "rope" && *position_embedding_type != "nope")
    fail("{}, position_embedding_type: '{}' is not supported, expected rope or nope", kWhere,
         *position_embedding_type);
  for (const auto& [key, factor] : kFactors)
    if (const auto& f = this->*factor; f && !(*f > 0)) fail("{}, {}: {} is not positive", kWhere, key, *f);
  if (!layer_types.empty() && static_cast<int64_t>(layer_types.size()) != num_hidden_layers)
    fail("{}, layer_types: {} entries for {} layers (num_hidden_layers)", kWhere, layer_types.size(),
         num_hidden_layers);
  for (int64_t i : attn_layer_indices)
    if (i < 0 || i >= num_hidden_layers)
      fail("{}, attn_layer_indices: {} is outside 0 … {}", kWhere, i, num_hidden_layers - 1);
  const std::vector<bool> kinds = attention();
  if (std::find(kinds.begin(), kinds.end(), false) != kinds.end()) mixer();
  if (rotary_dims() % 2) fail("{}: {} rotary dimensions of a head are odd", kWhere, rotary_dims());
  if (rotary_dims() > 0) rope();  // throws Error naming what it cannot do
}

// Bamba rotates half of a head unless its file says another share.
int64_t GraniteConfig::rotary_dims() const {
  if (!bamba()) return position_embedding_type == "rope" ? head_dim() : 0;
  double share = 0.5;
  if (const Json* r = rope_json(source)) {
    ConfigReader read(*r, std::string(kWhere) + ", rope_parameters");
    read("partial_rotary_factor", share);
  }
  if (!(share > 0 && share <= 1)) fail("{}, partial_rotary_factor: {} is outside 0 … 1", kWhere, share);
  return static_cast<int64_t>(static_cast<double>(head_dim()) * share);
}

std::vector<bool> GraniteConfig::attention() const {
  if (!bamba() && !layer_types.empty()) return attention_layers(layer_types, "layer_types");
  std::vector<bool> a(static_cast<size_t>(num_hidden_layers));
  for (int64_t i : attn_layer_indices) a[static_cast<size_t>(i)] = true;
  return a;
}

mixers::Mamba2Config GraniteConfig::mixer() const {
  mixers::Mamba2Config m = mamba.mixer(hidden_size, rms_norm_eps);
  read_time_step_limit(source, m);
  return m;
}

RopeScaling GraniteConfig::rope() const {
  Json share_taken = source;  // partial_rotary_factor is in rotary_dims() already
  for (const char* key : {"rope_parameters", "rope_scaling"})
    if (const Json* r = source.find(key); r && r->is_object()) {
      Json without = *r;
      without.erase("partial_rotary_factor");
      share_taken.set(key, without);
    }
  return read_rope(share_taken, {.rotary_dims = rotary_dims(), .theta = 1e4, .context = max_position_embeddings});
}

Json GraniteConfig::to_hf() const {
  Json j = source.is_object() ? source : Json::object();
  const Json given = j;
  write_json(j, *this);
  auto drop = [&](const char* key) {
    if (!given.find(key)) j.erase(key);
  };
  for (const char* key : {"num_key_value_heads", "shared_intermediate_size", "num_local_experts",
                          "num_experts_per_tok", "position_embedding_type", "mlp_bias", "attn_layer_indices"})
    drop(key);
  if (experts() > 0) j.set("num_experts_per_tok", num_experts_per_tok.value_or(2));  // read by whoever counts
  for (const auto& [key, factor] : kFactors) drop(key);
  if (bamba() || layer_types.empty())
    given.find("layer_types") ? j.set("layer_types", *given.find("layer_types")) : j.erase("layer_types");
  if (!j.find("architectures") || j.find("architectures")->is_null())
    j.set("architectures", Json(Json::Array{Json(bamba() ? "BambaForCausalLM" : "GraniteMoeHybridForCausalLM")}));
  return j;
}

}  // namespace quern::models
