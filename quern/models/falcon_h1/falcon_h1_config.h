// Falcon-H1's configuration (model_type "falcon_h1"): attention and Mamba-2 side by side in every layer, with factors
// on almost everything (muP).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/models/bamba/mamba_settings.h"
#include "quern/models/llama/rope_scaling.h"

namespace quern::models {

struct FalconH1Config {
  std::string model_type = "falcon_h1";
  int64_t vocab_size = 128000, hidden_size = 4096, intermediate_size = 14336, num_hidden_layers = 32,
          num_attention_heads = 32, max_position_embeddings = 8192;
  std::optional<int64_t> num_key_value_heads = 8, head_dim, mamba_d_ssm = 1024;
  double rms_norm_eps = 1e-5;
  std::string hidden_act = "silu";
  bool tie_word_embeddings = false, attention_bias = false, mlp_bias = false, projectors_bias = false;
  bool mamba_rms_norm = false, mamba_norm_before_gate = true;
  double embedding_multiplier = 1, lm_head_multiplier = 1, key_multiplier = 1, attention_in_multiplier = 1,
         attention_out_multiplier = 1, ssm_in_multiplier = 1, ssm_out_multiplier = 1;
  std::vector<double> mlp_multipliers, ssm_multipliers;
  MambaSettings mamba;
  Json source;  // config.json as read: unknown keys are kept

  template <class V>
  void visit(V& v) {
    v("model_type", model_type, "family: falcon_h1");
    v("vocab_size", vocab_size, "rows of the embedding and the head");
    v("hidden_size", hidden_size, "width of the residual stream");
    v("intermediate_size", intermediate_size, "inner width of the gated feed-forward");
    v("num_hidden_layers", num_hidden_layers, "number of layers");
    v("num_attention_heads", num_attention_heads, "query heads");
    v("num_key_value_heads", num_key_value_heads, "key/value heads");
    v("head_dim", head_dim, "size of an attention head (hidden_size / heads if absent)");
    v("max_position_embeddings", max_position_embeddings, "maximum context length");
    v("rms_norm_eps", rms_norm_eps, "epsilon of the norms");
    v("hidden_act", hidden_act, "activation of the gate");
    v("tie_word_embeddings", tie_word_embeddings, "the head is the embedding");
    v("attention_bias", attention_bias, "biases in the attention projections");
    v("mlp_bias", mlp_bias, "biases in the feed-forward");
    v("projectors_bias", projectors_bias, "bias of the Mamba output projection");
    v("mamba_d_ssm", mamba_d_ssm, "inner channels of the Mamba part (mamba_expand · hidden_size if null)");
    v("mamba_rms_norm", mamba_rms_norm, "normalize the gated output of the scan");
    v("mamba_norm_before_gate", mamba_norm_before_gate, "the gate comes after that norm, which is not supported");
    v("embedding_multiplier", embedding_multiplier, "factor of the embedding");
    v("lm_head_multiplier", lm_head_multiplier, "factor of the logits");
    v("key_multiplier", key_multiplier, "factor of the keys");
    v("attention_in_multiplier", attention_in_multiplier, "factor of the attention's input");
    v("attention_out_multiplier", attention_out_multiplier, "factor of the attention's output");
    v("ssm_in_multiplier", ssm_in_multiplier, "factor of the Mamba part's input");
    v("ssm_out_multiplier", ssm_out_multiplier, "factor of the Mamba part's output");
    v("mlp_multipliers", mlp_multipliers, "factors of the feed-forward's gate and output");
    v("ssm_multipliers", ssm_multipliers, "factors of the Mamba projection's parts: gate, x, B, C and time step");
    mamba.visit(v);
  }

  static FalconH1Config from_hf(const Json& j);
  Json to_hf() const;

  int64_t kv_heads() const { return num_key_value_heads.value_or(num_attention_heads); }
  int64_t head_size() const { return head_dim.value_or(hidden_size / num_attention_heads); }
  mixers::Mamba2Config mixer() const;
  RopeScaling rope() const;

 private:
  void check() const;
};

}  // namespace quern::models
