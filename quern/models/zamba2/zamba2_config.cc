#include "quern/models/zamba2/zamba2_config.h"

#include <cmath>

#include "quern/base/config.h"
#include "quern/kernels/rope/rope.h"
#include "quern/models/context_length.h"
#include "quern/models/zamba/zamba_stack.h"

namespace quern::models {
namespace {

constexpr const char *kWhere = "config.json", *kRope = "config.json, rope_parameters";

constexpr std::pair<const char*, const char*> kLegacyNames[] = {
    {"state_size", "mamba_d_state"},
    {"conv_dimension", "mamba_d_conv"},
    {"expansion_factor", "mamba_expand"},
    {"ffn_hidden_size", "intermediate_size"},
    {"lora_rank", "adapter_rank"},
    {"use_shared_attention_lora", "use_shared_attention_adapter"},
    {"se_shared_attention_lora", "use_shared_attention_adapter"},  // as one published file spells it
    {"num_layers", "num_hidden_layers"},
    {"layer_types", "layers_block_type"},
};

// The layers of Zamba2-2.7B, which transformers takes when a file names none.
std::vector<bool> published_layers() {
  std::vector<bool> hybrid(54);
  for (size_t l : {6, 12, 18, 24, 30, 36, 42, 47, 51}) hybrid[l] = true;
  return hybrid;
}

const Json* rope_json(const Json& j) {
  for (const char* key : {"rope_parameters", "rope_scaling"})
    if (const Json* r = j.find(key); r && r->is_object()) return r;
  return nullptr;
}

}  // namespace

Zamba2Config Zamba2Config::from_hf(const Json& j) {
  Zamba2Config c;
  Json current = j;
  for (auto [old, name] : kLegacyNames)
    if (const Json* v = j.find(old); v && !j.find(name)) current.set(name, *v);
  from_json(current, c, kWhere);
  if (c.use_long_context) c.max_position_embeddings = 16384;  // as transformers does
  if (const Json* r = rope_json(j)) ConfigReader(*r, kRope)("rope_theta", c.rope_theta);
  c.source = j;
  zamba_check_size("num_hidden_layers", c.num_hidden_layers, 4096);
  c.layers_block_type =
      zamba_layer_names(c.layers_block_type.empty() ? published_layers() : zamba_hybrid_layers(c.layers_block_type));
  c.check();
  return c;
}

void Zamba2Config::check() const {
  zamba_check_size("vocab_size", vocab_size, 1 << 24);
  zamba_check_size("hidden_size", hidden_size, 1 << 20);
  zamba_check_size("intermediate_size", ffn(), 1 << 22);
  zamba_check_size("num_attention_heads", num_attention_heads, 4096);
  zamba_check_size("num_key_value_heads", kv_heads(), 4096);
  zamba_check_size("max_position_embeddings", max_position_embeddings, int64_t{1} << 31);
  zamba_check_size("mamba_expand", mamba_expand, 64);
  zamba_check_size("mamba_headdim", mamba_headdim.value_or(64), 1 << 16);
  zamba_check_size("n_mamba_heads", heads(), 1 << 16);
  zamba_check_size("mamba_d_state", mamba_d_state, 1 << 16);
  zamba_check_size("num_mem_blocks", num_mem_blocks, 4096);
  zamba_check_size("adapter_rank", adapter_rank, 1 << 16);
  if (inner() % heads())
    fail("{}, n_mamba_heads: {} does not divide the {} inner channels", kWhere, heads(), inner());
  if (mamba_headdim && *mamba_headdim != inner() / heads())
    fail("{}, mamba_headdim: {}, expected {} (inner channels over n_mamba_heads)", kWhere, *mamba_headdim,
         inner() / heads());
  if (2 * hidden_size % num_attention_heads)
    fail("{}, num_attention_heads: {} does not divide twice hidden_size, {}", kWhere, num_attention_heads,
         2 * hidden_size);
  const int64_t head = 2 * hidden_size / num_attention_heads;
  if (attention_head_dim && *attention_head_dim != head)
    fail("{}, attention_head_dim: {}, expected {} (twice hidden_size over num_attention_heads)", kWhere,
         *attention_head_dim, head);
  if (use_mem_rope && head % 2) fail("{}, use_mem_rope: heads of {} are odd", kWhere, head);
  if (use_mem_rope) rope();  // throws Error naming what it cannot do
  if (time_step_limit && !(time_step_limit->first >= 0 && time_step_limit->second > time_step_limit->first))
    fail("{}, time_step_limit: [{}, {}], expected 0 ≤ lower bound < upper bound", kWhere, time_step_limit->first,
         time_step_limit->second);
  if (!(rope_theta > 0)) fail("{}, rope_theta: {} is not positive", kWhere, rope_theta);
  if (static_cast<int64_t>(layers_block_type.size()) != num_hidden_layers)
    fail("{}, layers_block_type: {} entries for {} layers (num_hidden_layers)", kWhere, layers_block_type.size(),
         num_hidden_layers);
}

RopeScaling Zamba2Config::rope() const {
  const Json* r = rope_json(source);
  RopeBase base{.rotary_dims = head_size(), .theta = rope_theta, .context = max_position_embeddings};
  const auto d = static_cast<double>(base.rotary_dims);
  if (use_long_context) base.theta *= std::pow(8.0, d / (d - 2));
  RopeScaling out = read_rope_scaling(r, base, kRope);
  if (use_long_context && out.config.inv_freq != kernels::rope_inv_freq(base.rotary_dims, base.theta))
    fail("{}, use_long_context: true stretches the rotary positions already, expected no other scaling", kWhere);
  return out;
}

int64_t Zamba2Config::context() const {
  if (use_mem_rope) return rope().context;
  return kAnyLength;
}

Json Zamba2Config::to_hf() const {
  Json j = source.is_object() ? source : Json::object();
  for (auto [old, name] : kLegacyNames) j.erase(old);
  const bool nested = j.find("rope_parameters") && j.find("rope_parameters")->is_object();
  j.set("model_type", "zamba2");
  if (!j.find("architectures")) j.set("architectures", Json(Json::Array{Json("Zamba2ForCausalLM")}));
  write_json(j, *this);
  if (nested) j.erase("rope_theta");
  if (time_step_floor == 0) j.erase("quern_time_step_floor");
  if (!time_step_limit && !source.find("time_step_limit")) j.erase("time_step_limit");
  Json hybrid = Json::array();
  for (size_t l = 0; l < layers_block_type.size(); ++l)
    if (layers_block_type[l] == "hybrid") hybrid.push(static_cast<int64_t>(l));
  j.set("hybrid_layer_ids", hybrid);
  j.set("intermediate_size", ffn());
  j.set("num_key_value_heads", kv_heads());
  j.set("n_mamba_heads", heads());
  j.set("mamba_headdim", inner() / heads());
  j.set("attention_hidden_size", 2 * hidden_size);
  j.set("attention_head_dim", 2 * hidden_size / num_attention_heads);
  j.set("kv_channels", hidden_size / num_attention_heads);
  return j;
}

}  // namespace quern::models
