#include "quern/models/llama/llama_config.h"

#include "quern/base/config.h"

namespace quern::models {
namespace {

constexpr const char* kWhere = "config.json";

// rope_parameters (current) or rope_scaling (old); null when there is neither.
const Json* rope_json(const Json& j) {
  for (const char* key : {"rope_parameters", "rope_scaling"})
    if (const Json* r = j.find(key); r && r->is_object()) return r;
  return nullptr;
}

}  // namespace

LlamaConfig LlamaConfig::from_hf(const Json& j) {
  LlamaConfig c;
  from_json(j, c, kWhere);
  if (c.model_type == "mistral" && !j.find("sliding_window")) c.sliding_window = 4096;
  ConfigReader r(j, kWhere);
  r("rope_theta", c.rope_theta);
  if (const Json* rope = rope_json(j)) {
    ConfigReader rr(*rope, std::string(kWhere) + ", rope_parameters");
    rr("rope_theta", c.rope_theta);
  }
  c.source = j;
  c.check();
  return c;
}

void LlamaConfig::check() const {
  auto bounds = [](const char* key, int64_t v, int64_t maximum) {
    if (v < 1 || v > maximum) fail("{}, {}: {} is outside 1 … {}", kWhere, key, v, maximum);
  };
  bounds("vocab_size", vocab_size, 1 << 24);
  bounds("hidden_size", hidden_size, 1 << 20);
  bounds("intermediate_size", intermediate_size, 1 << 22);
  bounds("num_hidden_layers", num_hidden_layers, 4096);
  bounds("num_attention_heads", num_attention_heads, 4096);
  bounds("num_key_value_heads", kv_heads(), 4096);
  bounds("head_dim", head_size(), 1 << 16);
  bounds("max_position_embeddings", max_position_embeddings, int64_t{1} << 31);
  if (num_attention_heads % kv_heads())
    fail("{}, num_attention_heads: {} is not a multiple of num_key_value_heads {}", kWhere, num_attention_heads,
         kv_heads());
  if (head_size() % 2) fail("{}, head_dim: {} is odd, rotary embedding needs pairs", kWhere, head_size());
  if (!(rope_theta > 0)) fail("{}, rope_theta: {} is not positive", kWhere, rope_theta);
  if (!layer_types.empty() && static_cast<int64_t>(layer_types.size()) != num_hidden_layers)
    fail("{}, layer_types: {} entries for {} blocks (num_hidden_layers)", kWhere, layer_types.size(),
         num_hidden_layers);
  if (sliding_window && *sliding_window < 1) fail("{}, sliding_window: {} is not positive", kWhere, *sliding_window);
  for (const std::string& t : layer_types) {
    if (t != "full_attention" && t != "sliding_attention")
      fail("{}, layer_types: '{}', expected full_attention or sliding_attention", kWhere, t);
    if (t == "sliding_attention" && !sliding_window)
      fail("{}, sliding_window: needed by sliding_attention blocks", kWhere);
  }
  rope();  // throws Error naming what it cannot do
}

int64_t LlamaConfig::window(int64_t layer) const {
  if (!sliding_window) return 0;
  if (!layer_types.empty())
    return layer_types[static_cast<size_t>(layer)] == "sliding_attention" ? *sliding_window : 0;
  if (model_type == "mistral") return *sliding_window;
  if (use_sliding_window.value_or(false) && layer >= max_window_layers.value_or(28)) return *sliding_window;
  return 0;
}

RopeScaling LlamaConfig::rope() const {
  RopeBase base{.rotary_dims = head_size(), .theta = rope_theta, .context = max_position_embeddings};
  ConfigReader r(source, kWhere);
  r("original_max_position_embeddings", base.original_context);
  return read_rope_scaling(rope_json(source), base, std::string(kWhere) + ", rope_parameters");
}

Json LlamaConfig::to_hf() const {
  Json j = source.is_object() ? source : Json::object();
  write_json(j, *this);
  for (const char* key :
       {"num_key_value_heads", "head_dim", "attention_bias", "use_sliding_window", "max_window_layers"})
    if (j.find(key)->is_null()) j.erase(key);  // absent means the family's default; null would not
  if (layer_types.empty()) j.erase("layer_types");
  if (!rope_json(j)) j.set("rope_theta", rope_theta);
  if (!j.find("architectures")) {
    std::string arch = model_type == "llama"     ? "LlamaForCausalLM"
                       : model_type == "mistral" ? "MistralForCausalLM"
                       : model_type == "qwen2"   ? "Qwen2ForCausalLM"
                                                 : "Qwen3ForCausalLM";
    j.set("architectures", Json(Json::Array{Json(arch)}));
  }
  return j;
}

}  // namespace quern::models
