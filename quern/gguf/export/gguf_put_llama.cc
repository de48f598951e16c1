// Llama and Mistral as architecture llama, Qwen2 and Qwen3 as their own.
#include "quern/base/error.h"
#include "quern/gguf/export/gguf_families.h"

namespace quern::gguf {

const char* gguf_arch(const models::LlamaConfig& c) {
  return c.model_type == "qwen2" ? "qwen2" : c.model_type == "qwen3" ? "qwen3" : "llama";
}

void put_llama(GgufSheet& s, const models::LlamaConfig& c, Notes& notes) {
  const std::string arch = gguf_arch(c);
  if (c.hidden_act != "silu")
    fail("config.json, hidden_act: '{}' has no place in a GGUF file of architecture {}, expected silu", c.hidden_act,
         arch);
  const int64_t window = c.window(0);
  for (int64_t l = 1; l < c.num_hidden_layers; ++l)
    if (c.window(l) != window)
      fail(
          "config.json, layer_types: layers with and without a sliding window have no place in a GGUF file of "
          "architecture {}",
          arch);
  if (window > 0 && arch != "llama")
    fail("config.json, sliding_window: {} has no place in a GGUF file of architecture {}", window, arch);
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
  if (window > 0) {
    s.count("attention.sliding_window", window);
    notes.push_back(
        fmt::format("attention sees the newest {} tokens here; llama.cpp lets architecture llama see all, "
                    "which differs in longer texts",
                    window));
  }
  put_rope(s, c.rope(), c.source, c.rope_theta, c.head_size());
  const int64_t rotary = c.head_size();
  for (int64_t l = 0; l < c.num_hidden_layers; ++l) {
    const std::string hf = fmt::format("model.layers.{}.", l), blk = fmt::format("blk.{}.", l);
    s.take_both(hf + "input_layernorm", blk + "attn_norm");
    s.take_both(hf + "post_attention_layernorm", blk + "ffn_norm");
    for (const auto& [x, heads] : {std::pair{"q", c.num_attention_heads}, {"k", c.kv_heads()}})
      for (const char* kind : {".weight", ".bias"}) {
        const std::string from = fmt::format("{}self_attn.{}_proj{}", hf, x, kind),
                          to = fmt::format("{}attn_{}{}", blk, x, kind);
        if (!s.has(from)) continue;
        arch == "llama" ? s.take_rotated(from, to, heads, rotary) : s.take(from, to);
      }
    s.take_both(hf + "self_attn.v_proj", blk + "attn_v");
    s.take_both(hf + "self_attn.o_proj", blk + "attn_output");
    for (const char* x : {"q", "k"})
      s.take_both(fmt::format("{}self_attn.{}_norm", hf, x), fmt::format("{}attn_{}_norm", blk, x));
    for (const char* x : {"gate", "up", "down"})
      s.take_both(fmt::format("{}mlp.{}_proj", hf, x), fmt::format("{}ffn_{}", blk, x));
  }
  put_ends(s, "model.norm.weight");
}

}  // namespace quern::gguf
