// Nemotron-H's configuration (model_type "nemotron_h"): layers of one kind each, Mamba-2, attention without positions
// or a feed-forward of squared ReLUs. Layers are named, or letters of hybrid_override_pattern: M, * and -. Mixtures of
// experts (E) are refused.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/models/bamba/mamba_settings.h"

namespace quern::models {

enum class NemotronLayer { mamba, attention, mlp };

struct NemotronHConfig {
  std::string model_type = "nemotron_h";
  int64_t vocab_size = 131072, hidden_size = 4096, intermediate_size = 21504, num_attention_heads = 32,
          max_position_embeddings = 4096, head_dim = 128;
  std::optional<int64_t> num_key_value_heads = 8;
  double layer_norm_epsilon = 1e-5;
  std::string mlp_hidden_act = "relu2", mamba_hidden_act = "silu";
  bool tie_word_embeddings = false, mlp_bias = false, use_bias = false, use_conv_bias = true;
  int64_t ssm_state_size = 128, mamba_num_heads = 128, mamba_head_dim = 64, n_groups = 8, conv_kernel = 4;
  std::vector<std::string> layers_block_type;
  Json source;  // config.json as read: unknown keys are kept

  template <class V>
  void visit(V& v) {
    v("model_type", model_type, "family: nemotron_h");
    v("vocab_size", vocab_size, "rows of the embedding and the head");
    v("hidden_size", hidden_size, "width of the residual stream");
    v("intermediate_size", intermediate_size, "inner width of a feed-forward");
    v("num_attention_heads", num_attention_heads, "query heads");
    v("num_key_value_heads", num_key_value_heads, "key/value heads");
    v("head_dim", head_dim, "size of an attention head");
    v("max_position_embeddings", max_position_embeddings, "maximum context length");
    v("layer_norm_epsilon", layer_norm_epsilon, "epsilon of the norms");
    v("mlp_hidden_act", mlp_hidden_act, "activation of the feed-forward: relu2, the square of a ReLU");
    v("mamba_hidden_act", mamba_hidden_act, "activation of the convolution and the gate: silu");
    v("tie_word_embeddings", tie_word_embeddings, "the head is the embedding");
    v("mlp_bias", mlp_bias, "biases in the feed-forward");
    v("use_bias", use_bias, "biases of the Mamba projections");
    v("use_conv_bias", use_conv_bias, "bias of the convolution");
    v("ssm_state_size", ssm_state_size, "states of a channel");
    v("mamba_num_heads", mamba_num_heads, "heads of a Mamba layer");
    v("mamba_head_dim", mamba_head_dim, "channels of a Mamba head");
    v("n_groups", n_groups, "groups of heads that share B and C, each normalized separately");
    v("conv_kernel", conv_kernel, "taps of the convolution");
    v("layers_block_type", layers_block_type, "mamba, attention or mlp, one per layer");
  }

  static NemotronHConfig from_hf(const Json& j);
  Json to_hf() const;

  int64_t kv_heads() const { return num_key_value_heads.value_or(num_attention_heads); }
  std::vector<NemotronLayer> layers() const;
  mixers::Mamba2Config mixer() const;

 private:
  void check() const;
};

}  // namespace quern::models
