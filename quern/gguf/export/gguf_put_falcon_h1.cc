#include "quern/gguf/export/gguf_families.h"

namespace quern::gguf {

const char* gguf_arch(const models::FalconH1Config&) { return "falcon-h1"; }

// llama.cpp knows none of the factors: they are multiplied into the weights.
void put_falcon_h1(GgufSheet& s, const models::FalconH1Config& c, Notes&) {
  const mixers::Mamba2Config mamba = c.mixer();
  s.count("block_count", c.num_hidden_layers);
  s.count("context_length", c.max_position_embeddings);
  s.count("embedding_length", c.hidden_size);
  s.count("feed_forward_length", c.intermediate_size);
  s.count("attention.head_count", c.num_attention_heads);
  s.count("attention.head_count_kv", c.kv_heads());
  s.count("attention.key_length", c.head_size());
  s.count("attention.value_length", c.head_size());
  s.real("attention.layer_norm_rms_epsilon", c.rms_norm_eps);
  s.count("vocab_size", c.vocab_size);
  const models::RopeScaling rope = c.rope();
  put_rope(s, rope, c.source, rope.config.theta, c.head_size());
  put_ssm(s, mamba);
  for (int64_t l = 0; l < c.num_hidden_layers; ++l) {
    const std::string hf = fmt::format("model.layers.{}.", l), blk = fmt::format("blk.{}.", l);
    s.take_both(hf + "input_layernorm", blk + "attn_norm");
    s.take(hf + "pre_ff_layernorm.weight", blk + "ffn_norm");  // llama.cpp's name
    const double in = c.attention_in_multiplier;
    struct Scaled {
      const char *ours, *theirs;
      double weight, bias;
    };
    for (const Scaled& x :
         {Scaled{"self_attn.q_proj", "attn_q", in, 1},
          {"self_attn.k_proj", "attn_k", in * c.key_multiplier, c.key_multiplier},
          {"self_attn.v_proj", "attn_v", in, 1},
          {"self_attn.o_proj", "attn_output", c.attention_out_multiplier, c.attention_out_multiplier},
          {"feed_forward.gate_proj", "ffn_gate", c.mlp_multipliers[0], c.mlp_multipliers[0]},
          {"feed_forward.up_proj", "ffn_up", 1, 1},
          {"feed_forward.down_proj", "ffn_down", c.mlp_multipliers[1], c.mlp_multipliers[1]}})
      for (const auto& [kind, factor] : {std::pair{".weight", x.weight}, {".bias", x.bias}})
        if (const std::string from = fmt::format("{}{}{}", hf, x.ours, kind); s.has(from))
          s.take_scaled(from, fmt::format("{}{}{}", blk, x.theirs, kind), {{s.shape(from)[0], factor}});
    put_mamba2(s, mamba, hf + "mamba.", blk, c.ssm_in_multiplier, c.ssm_out_multiplier);
  }
  s.take("model.final_layernorm.weight", "output_norm.weight");
  const std::string embedding = "model.embed_tokens.weight", head = "lm_head.weight";
  s.take_scaled(embedding, "token_embd.weight", {{c.vocab_size, c.embedding_multiplier}});
  if (s.has(head) || c.embedding_multiplier != c.lm_head_multiplier)  // tied, but not by the same factor
    s.take_scaled(s.has(head) ? head : embedding, "output.weight", {{c.vocab_size, c.lm_head_multiplier}});
}

}  // namespace quern::gguf
