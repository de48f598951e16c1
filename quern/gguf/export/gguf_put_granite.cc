// Granite 4 and Bamba as architecture granitehybrid; all-attention Granite as granite or granitemoe.
#include <algorithm>

#include "quern/base/error.h"
#include "quern/gguf/export/gguf_families.h"

namespace quern::gguf {
namespace {

void put_layer(GgufSheet& s, const models::GraniteConfig& c, int64_t l, bool attention, int64_t rotary) {
  const std::string hf = fmt::format("model.layers.{}.", l), blk = fmt::format("blk.{}.", l);
  s.take_both(hf + "input_layernorm", blk + "attn_norm");
  s.take_both(hf + (c.bamba() ? "pre_ff_layernorm" : "post_attention_layernorm"), blk + "ffn_norm");
  if (!attention) put_mamba2(s, c.mixer(), hf + "mamba.", blk);
  if (attention) {
    for (const auto& [x, heads] : {std::pair{"q", c.num_attention_heads}, {"k", c.kv_heads()}})
      for (const char* kind : {".weight", ".bias"})
        if (const std::string from = fmt::format("{}self_attn.{}_proj{}", hf, x, kind); s.has(from))
          s.take_rotated(from, fmt::format("{}attn_{}{}", blk, x, kind), heads, rotary);
    s.take_both(hf + "self_attn.v_proj", blk + "attn_v");
    s.take_both(hf + "self_attn.o_proj", blk + "attn_output");
  }
  for (const char* x : {"gate", "up", "down"})
    s.take_both(fmt::format("{}feed_forward.{}_proj", hf, x), fmt::format("{}ffn_{}", blk, x));
  const std::string shared = hf + "shared_mlp.", kind = c.experts() > 0 ? "_shexp.weight" : ".weight";
  if (s.has(shared + "input_linear.weight")) {
    s.take_halves(shared + "input_linear.weight", blk + "ffn_gate" + kind, blk + "ffn_up" + kind);
    s.take(shared + "output_linear.weight", blk + "ffn_down" + kind);
  }
  const std::string moe = hf + "block_sparse_moe.";
  if (c.experts() == 0) return;
  s.take(moe + "router.layer.weight", blk + "ffn_gate_inp.weight");
  s.take_halves(moe + "input_linear.weight", blk + "ffn_gate_exps.weight", blk + "ffn_up_exps.weight");
  s.take(moe + "output_linear.weight", blk + "ffn_down_exps.weight");
}

}  // namespace

const char* gguf_arch(const models::GraniteConfig& c) {
  const std::vector<bool> kinds = c.attention();
  if (std::find(kinds.begin(), kinds.end(), false) != kinds.end() || c.bamba()) return "granitehybrid";
  return c.experts() > 0 ? "granitemoe" : "granite";
}

void put_granite(GgufSheet& s, const models::GraniteConfig& c, Notes& notes) {
  const std::vector<bool> kinds = c.attention();
  const bool hybrid = std::string(gguf_arch(c)) == "granitehybrid";
  s.count("block_count", c.num_hidden_layers);
  s.count("context_length", c.max_position_embeddings);
  s.count("embedding_length", c.hidden_size);
  s.count("feed_forward_length", c.experts() > 0 ? c.intermediate_size : c.ffn());
  s.count("attention.head_count", c.num_attention_heads);
  if (hybrid) {
    std::vector<int32_t> kv;
    for (const bool a : kinds) kv.push_back(a ? static_cast<int32_t>(c.kv_heads()) : 0);
    s.own("attention.head_count_kv", kv);
    put_ssm(s, c.mixer());
    if (c.mixer().inner() != 2 * c.hidden_size) notes.push_back("llama.cpp opens only files whose mamba_expand is 2");
  } else {
    s.count("attention.head_count_kv", c.kv_heads());
  }
  s.real("attention.layer_norm_rms_epsilon", c.rms_norm_eps);
  s.count("vocab_size", c.vocab_size);
  if (c.experts() > 0) {
    s.count("expert_count", c.experts());
    s.count("expert_used_count", c.num_experts_per_tok.value_or(2));
  }
  if (!c.bamba() && c.ffn() > 0) s.count("expert_shared_feed_forward_length", c.ffn());
  if (!c.bamba()) {
    s.real("attention.scale", c.attention_multiplier.value_or(1));
    s.real("embedding_scale", c.embedding_multiplier.value_or(1));
    s.real("residual_scale", c.residual_multiplier.value_or(1));
    s.real("logit_scale", c.logits_scaling.value_or(1));
  }
  const int64_t rotary = c.rotary_dims();
  s.own("rope.scaling.finetuned", rotary > 0);
  if (rotary > 0)
    put_rope(s, c.rope(), c.source, c.rope().config.theta, rotary);
  else
    s.count("rope.dimension_count", c.head_dim());
  for (int64_t l = 0; l < c.num_hidden_layers; ++l)
    put_layer(s, c, l, kinds[static_cast<size_t>(l)], rotary > 0 ? rotary : c.head_dim());
  put_ends(s, c.bamba() ? "model.final_layernorm.weight" : "model.norm.weight");
}

}  // namespace quern::gguf
