// ZAYA's configuration in the current Hugging Face form, also read from the 2025 ("legacy") form. The legacy form
// lists half-layers (attention and MoE alternate), may carry a stale layer count and an uncompressed head count: the
// tensors decide (see from_hf).
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/tensor/safetensors.h"

namespace quern::models {

struct ZayaConfig {
  int64_t vocab_size = 262272, hidden_size = 2048, num_hidden_layers = 40;
  int64_t num_attention_heads = 8, num_key_value_heads = 2, head_dim = 128;
  int64_t max_position_embeddings = 131072;
  double rms_norm_eps = 1e-5;
  int64_t moe_intermediate_size = 2048, num_experts = 16, num_experts_per_tok = 1, router_hidden_size = 256;
  int64_t cca_time0 = 2, cca_time1 = 2;
  bool tie_word_embeddings = true, attention_bias = false, lm_head_bias = false;
  std::string hidden_act = "silu";
  std::vector<std::string> layer_types;  // "hybrid" | "hybrid_sliding", one a block
  std::optional<int64_t> sliding_window;
  std::optional<int64_t> pad_token_id = 0, bos_token_id = 2;
  // Ours, written only when not the default: what the skip class contributes, "zero" or "identity".
  std::string skip_class = "zero";
  // Ours too, to measure what the published parts are worth (papers/zaya1): "ccgqa" or "gqa", attention of
  // num_attention_heads plain heads; "mlp-eda", "mlp" (without the state of the block below) or "linear".
  std::string attention = "ccgqa", router = "mlp-eda";

  struct Rope {
    double theta = 5e6, partial = 0.5;
  };
  std::map<std::string, Rope> rope = {{"hybrid", {5e6, 0.5}}, {"hybrid_sliding", {1e4, 0.5}}};
  Json source;  // config.json as read: unknown keys are kept

  template <class V>
  void visit(V& v) {
    v("vocab_size", vocab_size, "rows of the embedding and the head");
    v("hidden_size", hidden_size, "width of the residual stream");
    v("num_hidden_layers", num_hidden_layers, "blocks (one CCA and one MoE each)");
    v("num_attention_heads", num_attention_heads, "latent query heads");
    v("num_key_value_heads", num_key_value_heads, "latent key/value heads");
    v("head_dim", head_dim, "size of a head");
    v("max_position_embeddings", max_position_embeddings, "maximum context length");
    v("rms_norm_eps", rms_norm_eps, "epsilon of every norm, the router's included");
    v("moe_intermediate_size", moe_intermediate_size, "inner width of an expert");
    v("num_experts", num_experts, "experts per block, the skip class not counted");
    v("num_experts_per_tok", num_experts_per_tok, "experts per token (1)");
    v("router_hidden_size", router_hidden_size, "width of the router");
    v("cca_time0", cca_time0, "taps of the depthwise convolution");
    v("cca_time1", cca_time1, "taps of the grouped convolution");
    v("tie_word_embeddings", tie_word_embeddings, "the head is the embedding");
    v("attention_bias", attention_bias, "biases in the attention projections");
    v("lm_head_bias", lm_head_bias, "bias of the head");
    v("hidden_act", hidden_act, "activation of the gate of the experts");
    v("layer_types", layer_types, "hybrid or hybrid_sliding, one per block");
    v("sliding_window", sliding_window, "keys a sliding-window block attends to, the current one included");
    v("pad_token_id", pad_token_id, "padding id");
    v("bos_token_id", bos_token_id, "first id of a text");
    v("quern_skip_class", skip_class, "what a token routed to no expert gets: zero or identity");
    v("quern_attention", attention, "ccgqa, or gqa: plain attention with the same heads");
    v("quern_router", router, "mlp-eda, mlp (no averaging over depth) or linear (one matrix)");
  }

  // Reads either form; weights (may be null) settle layer and head counts where the legacy form lies.
  static ZayaConfig from_hf(const Json& j, const TensorFolder* weights);
  Json to_hf() const;
  void check() const;  // throws Error naming the field
};

bool zaya_is_legacy(const TensorFolder& weights);

}  // namespace quern::models
