#include "quern/models/zamba/zamba_config.h"

#include "quern/base/config.h"
#include "quern/models/zamba/zamba_stack.h"

namespace quern::models {
namespace {
constexpr const char* kWhere = "config.json";
}

ZambaConfig ZambaConfig::from_hf(const Json& j) {
  ZambaConfig c;
  Json current = j;
  if (const Json* r = j.find("mamba_dt_rank"); r && r->is_string()) {
    if (r->as_string() != "auto") fail("{}, mamba_dt_rank: '{}', expected a number or auto", kWhere, r->as_string());
    current.erase("mamba_dt_rank");
  }
  if (const Json* types = j.find("layer_types"); types && !j.find("layers_block_type"))
    current.set("layers_block_type", *types);
  from_json(current, c, kWhere);
  c.source = j;
  zamba_check_size("num_hidden_layers", c.num_hidden_layers, 4096);
  if (c.layers_block_type.empty()) {
    if (c.attn_layer_period < 1) fail("{}, attn_layer_period: {} must be 1 or more", kWhere, c.attn_layer_period);
    // Two plain layers and the first invocation stand before the regular pattern.
    std::vector<bool> hybrid = {false, false, true};
    for (int64_t i = 0; i + 3 < c.num_hidden_layers; ++i)
      hybrid.push_back(i % c.attn_layer_period == c.attn_layer_offset);
    hybrid.resize(static_cast<size_t>(c.num_hidden_layers));
    c.layers_block_type = zamba_layer_names(hybrid);
  } else {
    c.layers_block_type = zamba_layer_names(zamba_hybrid_layers(c.layers_block_type));
  }
  c.check();
  return c;
}

void ZambaConfig::check() const {
  zamba_check_size("vocab_size", vocab_size, 1 << 24);
  zamba_check_size("hidden_size", hidden_size, 1 << 20);
  zamba_check_size("intermediate_size", intermediate_size, 1 << 22);
  zamba_check_size("num_attention_heads", num_attention_heads, 4096);
  zamba_check_size("num_key_value_heads", num_key_value_heads, 4096);
  zamba_check_size("max_position_embeddings", max_position_embeddings, int64_t{1} << 31);
  zamba_check_size("mamba_expand", mamba_expand, 64);
  if (2 * hidden_size % num_attention_heads)
    fail("{}, num_attention_heads: {} does not divide twice hidden_size, {}", kWhere, num_attention_heads,
         2 * hidden_size);
  const int64_t head = 2 * hidden_size / num_attention_heads;
  if (attention_hidden_size && *attention_hidden_size != 2 * hidden_size)
    fail("{}, attention_hidden_size: {}, expected twice hidden_size, {}", kWhere, *attention_hidden_size,
         2 * hidden_size);
  if (attention_head_dim && *attention_head_dim != head)
    fail("{}, attention_head_dim: {}, expected {} (twice hidden_size over num_attention_heads)", kWhere,
         *attention_head_dim, head);
  if (hidden_mamba_act != "silu")
    fail("{}, hidden_mamba_act: '{}' is not supported, expected silu", kWhere, hidden_mamba_act);
  if (static_cast<int64_t>(layers_block_type.size()) != num_hidden_layers)
    fail("{}, layers_block_type: {} entries for {} layers (num_hidden_layers)", kWhere, layers_block_type.size(),
         num_hidden_layers);
}

Json ZambaConfig::to_hf() const {
  Json j = source.is_object() ? source : Json::object();
  j.set("model_type", "zamba");
  if (!j.find("architectures")) j.set("architectures", Json(Json::Array{Json("ZambaForCausalLM")}));
  write_json(j, *this);
  j.set("attention_hidden_size", 2 * hidden_size);
  j.set("attention_head_dim", 2 * hidden_size / num_attention_heads);
  j.set("mamba_dt_rank", dt_rank());
  return j;
}

}  // namespace quern::models
