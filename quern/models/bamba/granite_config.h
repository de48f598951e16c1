// Configuration of Granite-4 hybrids (model_type "granitemoehybrid") and of Bamba, which differ only in these fields:
// layers of Mamba-2 or attention, each followed by a feed-forward; in Granite experts may stand beside it, and four
// multipliers scale the embedding, the attention scores, the residual branches and the logits.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/models/bamba/mamba_settings.h"
#include "quern/models/llama/rope_scaling.h"

namespace quern::models {

struct GraniteConfig {
  std::string model_type = "granitemoehybrid";  // or bamba
  int64_t vocab_size = 32000, hidden_size = 4096, intermediate_size = 11008, num_hidden_layers = 32,
          num_attention_heads = 32, max_position_embeddings = 2048;
  std::optional<int64_t> num_key_value_heads, shared_intermediate_size, num_local_experts, num_experts_per_tok;
  double rms_norm_eps = 1e-6;
  std::optional<double> embedding_multiplier, attention_multiplier, residual_multiplier, logits_scaling;
  std::string hidden_act = "silu";
  bool tie_word_embeddings = false, attention_bias = false, mlp_bias = false;
  std::optional<std::string> position_embedding_type;  // Granite: rope, or none
  std::vector<std::string> layer_types;                // Granite: mamba | attention
  std::vector<int64_t> attn_layer_indices;             // Bamba
  MambaSettings mamba;
  Json source;  // config.json as read: unknown keys are kept

  template <class V>
  void visit(V& v) {
    v("model_type", model_type, "family: granitemoehybrid or bamba");
    v("vocab_size", vocab_size, "rows of the embedding and the head");
    v("hidden_size", hidden_size, "width of the residual stream");
    v("intermediate_size", intermediate_size, "inner width of an expert; bamba: of the feed-forward");
    v("shared_intermediate_size", shared_intermediate_size,
      "granite: inner width of the feed-forward of every token; 0 is none");
    v("num_hidden_layers", num_hidden_layers, "number of layers");
    v("num_attention_heads", num_attention_heads, "query heads");
    v("num_key_value_heads", num_key_value_heads, "key/value heads (query heads if absent)");
    v("max_position_embeddings", max_position_embeddings, "maximum context length");
    v("num_local_experts", num_local_experts, "granite: experts next to the feed-forward; 0 is none");
    v("num_experts_per_tok", num_experts_per_tok, "granite: experts per token");
    v("rms_norm_eps", rms_norm_eps, "epsilon of the norms");
    v("embedding_multiplier", embedding_multiplier, "granite: factor of the embedding");
    v("attention_multiplier", attention_multiplier, "granite: factor of the attention scores");
    v("residual_multiplier", residual_multiplier, "granite: factor of what a mixer or feed-forward adds");
    v("logits_scaling", logits_scaling, "granite: what the logits are divided by");
    v("hidden_act", hidden_act, "activation of the gate");
    v("tie_word_embeddings", tie_word_embeddings, "the head is the embedding");
    v("attention_bias", attention_bias, "biases in the attention projections");
    v("mlp_bias", mlp_bias, "bamba: biases in the feed-forward");
    v("position_embedding_type", position_embedding_type, "granite: rope for rotary positions, else none");
    v("layer_types", layer_types, "granite: mamba or attention, one per layer");
    v("attn_layer_indices", attn_layer_indices, "bamba: layers with attention");
    mamba.visit(v);
  }

  static GraniteConfig from_hf(const Json& j);
  Json to_hf() const;

  bool bamba() const { return model_type == "bamba"; }
  int64_t experts() const { return bamba() ? 0 : num_local_experts.value_or(8); }
  int64_t kv_heads() const { return num_key_value_heads.value_or(num_attention_heads); }
  int64_t ffn() const { return bamba() ? intermediate_size : shared_intermediate_size.value_or(1024); }
  int64_t head_dim() const { return hidden_size / num_attention_heads; }
  int64_t rotary_dims() const;          // 0 without positions
  std::vector<bool> attention() const;  // per layer
  mixers::Mamba2Config mixer() const;
  RopeScaling rope() const;

 private:
  void check() const;
};

}  // namespace quern::models
