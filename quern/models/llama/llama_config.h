// Configuration of pre-norm transformers: Llama, Mistral, Qwen2, Qwen3, which differ only in these fields.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/models/llama/rope_scaling.h"

namespace quern::models {

struct LlamaConfig {
  std::string model_type = "llama";  // llama | mistral | qwen2 | qwen3
  int64_t vocab_size = 32000, hidden_size = 4096, intermediate_size = 11008, num_hidden_layers = 32,
          num_attention_heads = 32;
  std::optional<int64_t> num_key_value_heads, head_dim;
  int64_t max_position_embeddings = 2048;
  double rms_norm_eps = 1e-6, rope_theta = 1e4;
  std::string hidden_act = "silu";
  bool tie_word_embeddings = false, mlp_bias = false;
  std::optional<bool> attention_bias, use_sliding_window;
  std::optional<int64_t> sliding_window, max_window_layers;
  std::vector<std::string> layer_types;  // full_attention | sliding_attention
  Json source;                           // config.json as read: unknown keys are kept

  template <class V>
  void visit(V& v) {
    v("model_type", model_type, "family: llama, mistral, qwen2 or qwen3");
    v("vocab_size", vocab_size, "rows of the embedding and the head");
    v("hidden_size", hidden_size, "width of the residual stream");
    v("intermediate_size", intermediate_size, "inner width of the gated feed-forward");
    v("num_hidden_layers", num_hidden_layers, "number of blocks");
    v("num_attention_heads", num_attention_heads, "query heads");
    v("num_key_value_heads", num_key_value_heads, "key/value heads (query heads if absent)");
    v("head_dim", head_dim, "size of a head (hidden_size / heads if absent)");
    v("max_position_embeddings", max_position_embeddings, "maximum context length");
    v("rms_norm_eps", rms_norm_eps, "epsilon of the norms");
    v("hidden_act", hidden_act, "activation of the gate");
    v("tie_word_embeddings", tie_word_embeddings, "the head is the embedding");
    v("mlp_bias", mlp_bias, "biases in the feed-forward");
    v("attention_bias", attention_bias, "biases in the attention projections");
    v("use_sliding_window", use_sliding_window, "qwen2: whether sliding_window counts");
    v("sliding_window", sliding_window, "keys a sliding-window block attends to, the current one included");
    v("max_window_layers", max_window_layers, "qwen2: blocks below this one use full attention");
    v("layer_types", layer_types, "full_attention or sliding_attention, one per block");
  }

  static LlamaConfig from_hf(const Json& j);
  Json to_hf() const;

  int64_t kv_heads() const { return num_key_value_heads.value_or(num_attention_heads); }
  int64_t head_size() const { return head_dim.value_or(hidden_size / num_attention_heads); }
  bool qkv_bias() const { return attention_bias.value_or(model_type == "qwen2"); }
  bool o_bias() const { return model_type == "llama" && attention_bias.value_or(false); }
  int64_t window(int64_t layer) const;  // 0 = all
  RopeScaling rope() const;             // of rope_parameters or rope_scaling in `source`

 private:
  void check() const;
};

}  // namespace quern::models
