#include "quern/gguf/export/gguf_families.h"

namespace quern::gguf {

const char* gguf_arch(const models::NemotronHConfig&) { return "nemotron_h"; }

void put_nemotron_h(GgufSheet& s, const models::NemotronHConfig& c, Notes&) {
  const std::vector<models::NemotronLayer> layers = c.layers();
  std::vector<int32_t> kv, ffn;
  for (const models::NemotronLayer l : layers) {
    kv.push_back(l == models::NemotronLayer::attention ? static_cast<int32_t>(c.kv_heads()) : 0);
    ffn.push_back(l == models::NemotronLayer::mlp ? static_cast<int32_t>(c.intermediate_size) : 0);
  }
  s.count("block_count", static_cast<int64_t>(layers.size()));
  s.count("context_length", c.max_position_embeddings);
  s.count("embedding_length", c.hidden_size);
  s.own("feed_forward_length", ffn);
  s.count("attention.head_count", c.num_attention_heads);
  s.own("attention.head_count_kv", kv);
  s.count("attention.key_length", c.head_dim);
  s.count("attention.value_length", c.head_dim);
  s.real("attention.layer_norm_epsilon", c.layer_norm_epsilon);
  s.real("attention.layer_norm_rms_epsilon", c.layer_norm_epsilon);
  s.count("vocab_size", c.vocab_size);
  put_ssm(s, c.mixer());
  for (size_t l = 0; l < layers.size(); ++l) {
    const std::string hf = fmt::format("model.layers.{}.", l), blk = fmt::format("blk.{}.", l);
    s.take_both(hf + "norm", blk + "attn_norm");
    if (layers[l] == models::NemotronLayer::mamba) put_mamba2(s, c.mixer(), hf + "mixer.", blk);
    for (const auto& [x, heads] : {std::pair{"q", c.num_attention_heads}, {"k", c.kv_heads()}})
      if (const std::string from = fmt::format("{}mixer.{}_proj.weight", hf, x); s.has(from))
        s.take_rotated(from, fmt::format("{}attn_{}.weight", blk, x), heads, c.head_dim);
    s.take_both(hf + "mixer.v_proj", blk + "attn_v");
    s.take_both(hf + "mixer.o_proj", blk + "attn_output");
    s.take_both(hf + "mixer.up_proj", blk + "ffn_up");
    s.take_both(hf + "mixer.down_proj", blk + "ffn_down");
  }
  s.take("model.embeddings.weight", "token_embd.weight");
  if (s.has("lm_head.weight")) s.take("lm_head.weight", "output.weight");
  s.take("model.norm_f.weight", "output_norm.weight");
}

}  // namespace quern::gguf
