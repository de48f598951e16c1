// Zamba2's configuration (model_type "zamba2") in the current Hugging Face form; the 2024 form uses other names
// (state_size, lora_rank, "m" and "g"), and rotary settings may be nested in rope_parameters.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quern/base/json.h"
#include "quern/models/llama/rope_scaling.h"

namespace quern::models {

struct Zamba2Config {
  int64_t vocab_size = 32000, hidden_size = 2560, num_hidden_layers = 54, max_position_embeddings = 4096;
  std::optional<int64_t> intermediate_size, num_key_value_heads, n_mamba_heads, mamba_headdim, attention_head_dim;
  std::vector<std::string> layers_block_type;  // mamba | hybrid
  int64_t mamba_d_state = 64, mamba_d_conv = 4, mamba_expand = 2, mamba_ngroups = 1, num_attention_heads = 32;
  int64_t num_mem_blocks = 1, adapter_rank = 128;
  bool use_conv_bias = true, add_bias_linear = false, tie_word_embeddings = true;
  bool use_shared_attention_adapter = false, use_mem_rope = false, use_long_context = false;
  double rms_norm_eps = 1e-5, rope_theta = 1e4;
  std::string hidden_act = "gelu";
  double time_step_floor = 0;  // ours, quern_time_step_floor: the floor that transformers puts under Δ in prompts
  std::optional<std::pair<double, double>> time_step_limit;
  Json source;  // config.json as read: unknown keys are kept

  template <class V>
  void visit(V& v) {
    v("vocab_size", vocab_size, "rows of the embedding and the head");
    v("hidden_size", hidden_size, "width of the residual stream");
    v("num_hidden_layers", num_hidden_layers, "Mamba layers, the hybrid ones included");
    v("max_position_embeddings", max_position_embeddings, "maximum context length");
    v("intermediate_size", intermediate_size, "inner width of the shared feed-forward (4·hidden_size if absent)");
    v("num_key_value_heads", num_key_value_heads, "key/value heads of the shared attention");
    v("n_mamba_heads", n_mamba_heads, "heads of a Mamba layer");
    v("mamba_headdim", mamba_headdim, "channels of a Mamba head");
    v("attention_head_dim", attention_head_dim, "size of an attention head, twice hidden_size over heads");
    v("layers_block_type", layers_block_type, "mamba or hybrid, one per layer");
    v("mamba_d_state", mamba_d_state, "states of a channel");
    v("mamba_d_conv", mamba_d_conv, "taps of the convolution");
    v("mamba_expand", mamba_expand, "inner channels over hidden_size");
    v("mamba_ngroups", mamba_ngroups, "groups of heads that share B and C");
    v("num_attention_heads", num_attention_heads, "query heads of the shared attention");
    v("num_mem_blocks", num_mem_blocks, "shared blocks, taking turns");
    v("adapter_rank", adapter_rank, "rank of the adapters");
    v("use_conv_bias", use_conv_bias, "bias of the convolution");
    v("add_bias_linear", add_bias_linear, "biases in the Mamba and feed-forward projections");
    v("tie_word_embeddings", tie_word_embeddings, "the head is the embedding");
    v("use_shared_attention_adapter", use_shared_attention_adapter, "adapters on queries, keys and values too");
    v("use_mem_rope", use_mem_rope, "rotary position embedding in the shared attention");
    v("use_long_context", use_long_context, "scaled rotary position embedding and a context of 16384");
    v("rms_norm_eps", rms_norm_eps, "epsilon of the norms");
    v("rope_theta", rope_theta, "base of the rotary frequencies");
    v("hidden_act", hidden_act, "activation of the gate of the shared feed-forward");
    v("quern_time_step_floor", time_step_floor, "lower bound of the time step; 0 is none");
    v("time_step_limit", time_step_limit, "lower and upper bound of the time step (none if absent or null)");
  }

  static Zamba2Config from_hf(const Json& j);
  Json to_hf() const;

  int64_t inner() const { return mamba_expand * hidden_size; }
  int64_t heads() const { return n_mamba_heads.value_or(inner() / mamba_headdim.value_or(64)); }
  int64_t kv_heads() const { return num_key_value_heads.value_or(num_attention_heads); }
  int64_t ffn() const { return intermediate_size.value_or(4 * hidden_size); }
  int64_t head_size() const { return 2 * hidden_size / num_attention_heads; }  // of the shared attention
  RopeScaling rope() const;  // long context: θ·8^(d / (d − 2)), 16384 tokens
  int64_t context() const;   // kAnyLength without rotary positions

 private:
  void check() const;
};

}  // namespace quern::models
