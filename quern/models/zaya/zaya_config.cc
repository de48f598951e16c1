#include "quern/models/zaya/zaya_config.h"

#include <algorithm>

#include "quern/base/config.h"

namespace quern::models {
namespace {

constexpr const char* kWhere = "config.json";

// The first nonzero entry of a per-half-layer list, or a scalar.
std::optional<int64_t> scalar_or_list(const Json& j, const char* key) {
  const Json* v = j.find(key);
  if (!v || v->is_null()) return std::nullopt;
  std::string what = fmt::format("{}, {}", kWhere, key);
  if (!v->is_array()) return v->as_int(what);
  for (const Json& x : v->as_array()) {
    if (x.is_string()) continue;
    if (int64_t n = x.as_int(what); n != 0) return n;
  }
  return std::nullopt;
}

bool is_legacy_config(const Json& j) {
  for (const char* key : {"zaya_layers", "cca_num_q_heads", "num_query_groups_list", "num_query_groups",
                          "ffn_hidden_size_list", "zaya_mlp_expansion", "kv_channels", "norm_epsilon"})
    if (j.find(key)) return true;
  return false;
}

void read_rope(const Json& j, ZayaConfig& c) {
  if (const Json* r = j.find("rope_parameters"); r && r->is_object()) {
    for (const auto& [type, p] : r->as_object()) {
      if (!p.is_object()) continue;  // the published file carries a stray top-level rope_type
      std::string what = fmt::format("{}, rope_parameters.{}", kWhere, type);
      ZayaConfig::Rope rope;
      std::string kind = "default";
      ConfigReader read(p, what);
      read("rope_type", kind);
      read("rope_theta", rope.theta);
      read("partial_rotary_factor", rope.partial);
      if (kind != "default") fail("{}.rope_type: '{}' is not supported, expected 'default'", what, kind);
      c.rope[type] = rope;
    }
    return;
  }
  ZayaConfig::Rope rope = c.rope["hybrid"];
  ConfigReader read(j, kWhere);
  read("rope_theta", rope.theta);
  read("partial_rotary_factor", rope.partial);
  c.rope["hybrid"] = rope;
}

ZayaConfig from_legacy(const Json& j) {
  ZayaConfig c;
  ConfigReader r(j, kWhere);
  r("vocab_size", c.vocab_size);
  r("hidden_size", c.hidden_size);
  r("max_position_embeddings", c.max_position_embeddings);
  r("norm_epsilon", c.rms_norm_eps);
  r("cca_time0", c.cca_time0);
  r("cca_time1", c.cca_time1);
  r("tie_word_embeddings", c.tie_word_embeddings);
  r("pad_token_id", c.pad_token_id);
  r("bos_token_id", c.bos_token_id);
  r("head_dim", c.head_dim);
  r("kv_channels", c.head_dim);
  int64_t half_layers = 2 * c.num_hidden_layers;
  r("num_hidden_layers", half_layers);
  if (const Json* l = j.find("zaya_layers"); l && l->is_array()) {
    half_layers = static_cast<int64_t>(l->as_array().size());
    c.num_experts = scalar_or_list(j, "zaya_layers").value_or(c.num_experts);
  }
  if (half_layers % 2)
    fail("{}, num_hidden_layers: {} half-layers, expected an even number (attention and MoE alternate)", kWhere,
         half_layers);
  c.num_hidden_layers = half_layers / 2;
  for (const char* key : {"num_experts", "num_moe_experts"})
    c.num_experts = scalar_or_list(j, key).value_or(c.num_experts);
  for (const char* key : {"num_attention_heads", "cca_num_q_heads"})
    c.num_attention_heads = scalar_or_list(j, key).value_or(c.num_attention_heads);
  for (const char* key : {"num_key_value_heads", "num_query_groups", "num_query_groups_list"})
    c.num_key_value_heads = scalar_or_list(j, key).value_or(c.num_key_value_heads);
  for (const char* key : {"ffn_hidden_size", "ffn_hidden_size_list"})
    if (auto f = scalar_or_list(j, key)) c.moe_intermediate_size = *f / 2;
  c.router_hidden_size = scalar_or_list(j, "zaya_mlp_expansion").value_or(c.router_hidden_size);
  if (const Json* clamp = j.find("clamp_temp"); clamp && clamp->is_bool() && clamp->as_bool())
    fail("{}, clamp_temp: true (exponential temperature) is not supported for ZAYA checkpoints", kWhere);
  if (const Json* bias = j.find("attention_bias"); bias && bias->is_bool() && bias->as_bool())
    fail("{}, attention_bias: true is not supported in the legacy form", kWhere);
  read_rope(j, c);
  return c;
}

// In the legacy form the tensors are the truth: heads from the rows of linear_q / linear_k, blocks from the names.
void settle_by_tensors(ZayaConfig& c, const TensorFolder& w) {
  const std::string q = "model.layers.0.self_attn.qkv.linear_q.weight",
                    k = "model.layers.0.self_attn.qkv.linear_k.weight";
  auto heads = [&](const std::string& name) {
    const Shape& s = w.entry(name).shape;
    if (s.size() != 2 || s[0] % c.head_dim)
      fail("tensor '{}', shape: {} does not divide into heads of {} (head_dim)", name, to_string(s), c.head_dim);
    return s[0] / c.head_dim;
  };
  c.num_attention_heads = heads(q);
  c.num_key_value_heads = heads(k);
  int64_t blocks = 0;
  while (w.contains(fmt::format("model.layers.{}.input_norm.weight", 2 * blocks + 1))) ++blocks;
  if (blocks == 0) fail("tensor 'model.layers.1.input_norm.weight' is missing: not a ZAYA checkpoint");
  c.num_hidden_layers = blocks;
  int64_t experts = 0;
  while (w.contains(fmt::format("model.layers.1.zaya_block.experts.local_experts.{}.linear_fc1.weight", experts)))
    ++experts;
  if (experts > 0) c.num_experts = experts;
}

}  // namespace

bool zaya_is_legacy(const TensorFolder& w) {
  return w.contains("model.final_norm.weight") || w.contains("model.layers.1.zaya_block.router.down_proj.weight");
}

ZayaConfig ZayaConfig::from_hf(const Json& j, const TensorFolder* weights) {
  ZayaConfig c;
  bool legacy_weights = weights && zaya_is_legacy(*weights);
  if (is_legacy_config(j)) {
    c = from_legacy(j);
    if (legacy_weights) settle_by_tensors(c, *weights);
  } else {
    from_json(j, c, kWhere);
    read_rope(j, c);
  }
  c.source = j;
  if (c.layer_types.empty())  // clamped: check() below refuses what is out of bounds
    c.layer_types.assign(static_cast<size_t>(std::clamp<int64_t>(c.num_hidden_layers, 0, 4096)), "hybrid");
  c.check();
  return c;
}

void ZayaConfig::check() const {
  auto at_least_one = [](const char* key, int64_t v, int64_t maximum) {
    if (v < 1 || v > maximum) fail("{}, {}: {} is outside 1 … {}", kWhere, key, v, maximum);
  };
  at_least_one("vocab_size", vocab_size, 1 << 24);
  at_least_one("hidden_size", hidden_size, 1 << 20);
  at_least_one("num_hidden_layers", num_hidden_layers, 4096);
  at_least_one("num_attention_heads", num_attention_heads, 4096);
  at_least_one("num_key_value_heads", num_key_value_heads, 4096);
  at_least_one("head_dim", head_dim, 1 << 16);
  at_least_one("max_position_embeddings", max_position_embeddings, int64_t{1} << 31);
  at_least_one("moe_intermediate_size", moe_intermediate_size, 1 << 20);
  at_least_one("num_experts", num_experts, 1 << 16);
  at_least_one("router_hidden_size", router_hidden_size, 1 << 16);
  at_least_one("cca_time0", cca_time0, 64);
  at_least_one("cca_time1", cca_time1, 64);
  if (num_attention_heads % num_key_value_heads)
    fail("{}, num_attention_heads: {} is not a multiple of num_key_value_heads {}", kWhere, num_attention_heads,
         num_key_value_heads);
  if (num_key_value_heads * head_dim % 2)
    fail("{}, head_dim: {} × {} key/value channels cannot be split in two", kWhere, num_key_value_heads, head_dim);
  if (num_experts_per_tok != 1)
    fail("{}, num_experts_per_tok: {} is not supported, ZAYA routes to 1", kWhere, num_experts_per_tok);
  if (lm_head_bias) fail("{}, lm_head_bias: true is not supported", kWhere);
  if (hidden_act != "silu")
    fail("{}, hidden_act: '{}' is not supported for ZAYA, expected 'silu'", kWhere, hidden_act);
  if (skip_class != "zero" && skip_class != "identity")
    fail("{}, quern_skip_class: '{}', expected zero or identity", kWhere, skip_class);
  if (attention != "ccgqa" && attention != "gqa")
    fail("{}, quern_attention: '{}', expected ccgqa or gqa", kWhere, attention);
  if (router != "mlp-eda" && router != "mlp" && router != "linear")
    fail("{}, quern_router: '{}', expected mlp-eda, mlp or linear", kWhere, router);
  if (static_cast<int64_t>(layer_types.size()) != num_hidden_layers)
    fail("{}, layer_types: {} entries for {} blocks (num_hidden_layers)", kWhere, layer_types.size(),
         num_hidden_layers);
  for (const std::string& t : layer_types) {
    if (t != "hybrid" && t != "hybrid_sliding")
      fail("{}, layer_types: '{}', expected hybrid or hybrid_sliding", kWhere, t);
    if (t == "hybrid_sliding" && (!sliding_window || *sliding_window < 1))
      fail("{}, sliding_window: needed by hybrid_sliding blocks", kWhere);
    const Rope& r = rope.at(t);
    double dims = r.partial * static_cast<double>(head_dim);
    if (!(r.partial > 0 && r.partial <= 1) || static_cast<int64_t>(dims) % 2)
      fail("{}, rope_parameters.{}.partial_rotary_factor: {} of {} dims is not an even number of dims", kWhere, t,
           r.partial, head_dim);
    if (!(r.theta > 0)) fail("{}, rope_parameters.{}.rope_theta: {} is not positive", kWhere, t, r.theta);
  }
}

Json ZayaConfig::to_hf() const {
  Json j = source.is_object() ? source : Json::object();
  for (const char* key : {"zaya_layers",
                          "cca_num_q_heads",
                          "num_query_groups_list",
                          "num_query_groups",
                          "ffn_hidden_size_list",
                          "ffn_hidden_size",
                          "zaya_mlp_expansion",
                          "kv_channels",
                          "norm_epsilon",
                          "rope_theta",
                          "rope_scaling",
                          "partial_rotary_factor",
                          "num_moe_experts",
                          "activation_func",
                          "gated_linear_unit",
                          "add_bias_linear",
                          "normalization",
                          "moe_router_topk",
                          "cca",
                          "residual_in_fp32",
                          "scale_residual_merge",
                          "zaya_use_mod",
                          "zaya_use_eda",
                          "clamp_temp",
                          "zaya_high_prec"})
    j.erase(key);
  j.set("model_type", "zaya");
  if (!j.find("architectures")) j.set("architectures", Json(Json::Array{Json("ZayaForCausalLM")}));
  write_json(j, *this);
  if (skip_class == "zero") j.erase("quern_skip_class");
  if (attention == "ccgqa") j.erase("quern_attention");
  if (router == "mlp-eda") j.erase("quern_router");
  Json r = Json::object();
  for (const auto& [type, p] : rope) {
    Json one = Json::object();
    one.set("rope_type", "default");
    one.set("rope_theta", p.theta);
    one.set("partial_rotary_factor", p.partial);
    r.set(type, one);
  }
  j.set("rope_parameters", r);
  return j;
}

}  // namespace quern::models
