// Zamba-7B's configuration (model_type "zamba").
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quern/base/json.h"

namespace quern::models {

struct ZambaConfig {
  int64_t vocab_size = 32000, hidden_size = 3712, intermediate_size = 14848, num_hidden_layers = 76;
  int64_t num_attention_heads = 16, num_key_value_heads = 16, max_position_embeddings = 4096;
  std::optional<int64_t> attention_hidden_size, attention_head_dim, mamba_dt_rank;  // dt_rank: also "auto"
  int64_t mamba_d_state = 16, mamba_d_conv = 4, mamba_expand = 2, n_mamba_heads = 2;
  int64_t attn_layer_period = 6, attn_layer_offset = 4;
  bool mamba_conv_bias = true, mamba_proj_bias = false, tie_word_embeddings = true;
  std::string hidden_act = "gelu", hidden_mamba_act = "silu";
  double rms_norm_eps = 1e-5;
  std::vector<std::string> layers_block_type;  // mamba | hybrid; absent: from period and offset
  Json source;                                 // config.json as read: unknown keys are kept

  template <class V>
  void visit(V& v) {
    v("vocab_size", vocab_size, "rows of the embedding and the head");
    v("hidden_size", hidden_size, "width of the residual stream");
    v("intermediate_size", intermediate_size, "inner width of the shared feed-forward");
    v("num_hidden_layers", num_hidden_layers, "Mamba layers, the hybrid ones included");
    v("num_attention_heads", num_attention_heads, "query heads of the shared attention");
    v("num_key_value_heads", num_key_value_heads, "key/value heads of the shared attention");
    v("max_position_embeddings", max_position_embeddings, "maximum context length");
    v("attention_hidden_size", attention_hidden_size, "width of the concatenation, twice hidden_size");
    v("attention_head_dim", attention_head_dim, "size of an attention head");
    v("mamba_dt_rank", mamba_dt_rank, "rank of the time step projection (hidden_size / 16 if absent)");
    v("mamba_d_state", mamba_d_state, "states of a channel");
    v("mamba_d_conv", mamba_d_conv, "taps of the convolution");
    v("mamba_expand", mamba_expand, "inner channels over hidden_size");
    v("n_mamba_heads", n_mamba_heads, "parts of the inner channels with B, C and time steps of their own");
    v("attn_layer_period", attn_layer_period, "layers between invocations of the shared block");
    v("attn_layer_offset", attn_layer_offset, "position of the invocation in a period");
    v("mamba_conv_bias", mamba_conv_bias, "bias of the convolution");
    v("mamba_proj_bias", mamba_proj_bias, "biases of the Mamba projections");
    v("tie_word_embeddings", tie_word_embeddings, "the head is the embedding");
    v("hidden_act", hidden_act, "activation of the gate of the shared feed-forward");
    v("hidden_mamba_act", hidden_mamba_act, "activation of the convolution and the gate");
    v("rms_norm_eps", rms_norm_eps, "epsilon of the norms");
    v("layers_block_type", layers_block_type, "mamba or hybrid, one per layer");
  }

  static ZambaConfig from_hf(const Json& j);
  Json to_hf() const;
  int64_t dt_rank() const { return mamba_dt_rank.value_or((hidden_size + 15) / 16); }

 private:
  void check() const;
};

}  // namespace quern::models
