#include "quern/gguf/gguf_falcon_h1.h"

#include "quern/base/error.h"
#include "quern/gguf/gguf_mamba2.h"
#include "quern/gguf/gguf_rope.h"

namespace quern::gguf {
namespace {

constexpr std::pair<const char*, const char*> kParts[] = {
    {"attn_norm", "input_layernorm"},       {"ffn_norm", "pre_ff_layernorm"},
    {"attn_q", "self_attn.q_proj"},         {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},         {"attn_output", "self_attn.o_proj"},
    {"ffn_gate", "feed_forward.gate_proj"}, {"ffn_up", "feed_forward.up_proj"},
    {"ffn_down", "feed_forward.down_proj"}};

}  // namespace

Json falcon_h1_config(GgufMetadata& m) {
  const auto has = [&](const char* name) { return m.file().entries().count(name) > 0; };
  Json j = common_config(m);
  const int64_t heads = m.whole("attention.head_count");
  if (heads < 1) fail("{}: {}, expected at least 1", m.where_own("attention.head_count"), heads);
  const int64_t head_dim = m.whole("attention.key_length", j.at("hidden_size").as_int() / heads);
  if (const int64_t v = m.whole("attention.value_length", head_dim); v != head_dim)
    fail("{}: {}, expected {} as attention.key_length", m.where_own("attention.value_length"), v, head_dim);
  const GgufSsm s = ssm_sizes(m);
  j.set("model_type", "falcon_h1");
  j.set("intermediate_size", m.whole("feed_forward_length"));
  j.set("num_attention_heads", heads);
  j.set("num_key_value_heads", m.whole("attention.head_count_kv", heads));
  j.set("head_dim", head_dim);
  j.set("rope_parameters", rope_parameters(m, head_dim));
  j.set("mamba_d_ssm", s.inner), j.set("mamba_n_heads", s.heads), j.set("mamba_d_head", s.inner / s.heads);
  j.set("mamba_n_groups", s.groups), j.set("mamba_d_state", s.states), j.set("mamba_d_conv", s.taps);
  j.set("mamba_rms_norm", has("blk.0.ssm_norm.weight")), j.set("mamba_norm_before_gate", false);
  j.set("mamba_conv_bias", has("blk.0.ssm_conv1d.bias"));
  for (const char* key : {"mamba_proj_bias", "projectors_bias"}) j.set(key, has("blk.0.ssm_in.bias"));
  j.set("attention_bias", has("blk.0.attn_q.bias")), j.set("mlp_bias", has("blk.0.ffn_gate.bias"));
  return j;
}

// Rows of queries and keys are stored as they are here.
void falcon_h1_tensors(GgufTensors& t, const Json& config) {
  for (int64_t l = 0; l < config.at("num_hidden_layers").as_int(); ++l) {
    const std::string hf = fmt::format("model.layers.{}.", l);
    for (const auto& [theirs, ours] : kParts)
      for (const char* kind : {"weight", "bias"})
        if (const std::string name = fmt::format("blk.{}.{}.{}", l, theirs, kind); t.has(name))
          t.add(fmt::format("{}{}.{}", hf, ours, kind), name);
    if (const std::string norm = fmt::format("blk.{}.ffn_norm", l); t.has(norm))  // llama.cpp's name has no .weight
      t.add(hf + "pre_ff_layernorm.weight", norm);
    mamba2_tensors(t, l, hf + "mamba.");
  }
}

}  // namespace quern::gguf
