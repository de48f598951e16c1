#include "quern/gguf/gguf_llama.h"

#include "quern/base/error.h"
#include "quern/gguf/gguf_rope.h"

namespace quern::gguf {
namespace {

constexpr std::pair<std::string_view, std::string_view> kParts[] = {
    {"attn_norm", "input_layernorm"},    {"ffn_norm", "post_attention_layernorm"},
    {"attn_q", "self_attn.q_proj"},      {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},      {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"}, {"attn_k_norm", "self_attn.k_norm"},
    {"ffn_gate", "mlp.gate_proj"},       {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"}};

}  // namespace

Json llama_config(GgufMetadata& m) {
  const GgufFile& f = m.file();
  if (const int64_t e = m.whole("expert_count", 0); e != 0)
    fail("{}: {} experts are not supported", m.where_own("expert_count"), e);
  Json j = common_config(m);
  const int64_t window = m.whole("attention.sliding_window", 0), heads = m.whole("attention.head_count");
  const int64_t layers = j.at("num_hidden_layers").as_int();
  if (heads < 1) fail("{}: {}, expected at least 1", m.where_own("attention.head_count"), heads);
  const int64_t head_dim = m.whole("attention.key_length", j.at("hidden_size").as_int() / heads);
  if (const int64_t v = m.whole("attention.value_length", head_dim); v != head_dim)
    fail("{}: {}, expected {} as attention.key_length", m.where_own("attention.value_length"), v, head_dim);
  j.set("model_type", m.arch() == "llama" && window > 0 ? "mistral" : m.arch());
  j.set("intermediate_size", m.whole("feed_forward_length"));
  j.set("num_attention_heads", heads);
  j.set("num_key_value_heads", m.whole("attention.head_count_kv", heads));
  j.set("head_dim", head_dim);
  j.set("attention_bias", f.entries().count("blk.0.attn_q.bias") > 0);
  j.set("mlp_bias", f.entries().count("blk.0.ffn_gate.bias") > 0);
  j.set("rope_parameters", rope_parameters(m, head_dim));
  if (window > 0) {
    j.set("sliding_window", window);
    j.set("layer_types", Json(Json::Array(static_cast<size_t>(layers), "sliding_attention")));
  }
  return j;
}

// Architecture llama stores the rows of queries and keys in neighboring pairs, qwen2 and qwen3 as they are here.
void llama_tensors(GgufTensors& t, const Json& config) {
  const bool paired = t.file().metadata().at("general.architecture").as_string() == "llama";
  const int64_t layers = config.at("num_hidden_layers").as_int(), head_dim = config.at("head_dim").as_int();
  t.skip("rope_freqs.weight");  // read already
  for (int64_t l = 0; l < layers; ++l)
    for (const auto& [theirs, ours] : kParts)
      for (const char* kind : {"weight", "bias"}) {
        const std::string name = fmt::format("blk.{}.{}.{}", l, theirs, kind);
        if (!t.has(name)) continue;
        const std::string hf = fmt::format("model.layers.{}.{}.{}", l, ours, kind);
        if (paired && (theirs == "attn_q" || theirs == "attn_k"))
          t.add_rotated(hf, name,
                        config.at(theirs == "attn_q" ? "num_attention_heads" : "num_key_value_heads").as_int(),
                        head_dim);
        else
          t.add(hf, name);
      }
}

}  // namespace quern::gguf
