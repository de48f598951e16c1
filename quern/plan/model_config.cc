#include "quern/plan/model_config.h"

#include <algorithm>

#include "quern/models/llama/llama_config.h"
#include "quern/models/zamba/zamba_stack.h"
#include "quern/models/zamba2/zamba2_config.h"
#include "quern/models/zaya/zaya_config.h"

namespace quern::plan {
namespace {

// The published bases grow with the context that a model is trained for.
double rope_theta(int64_t context) { return context <= 4096 ? 1e4 : context <= 32768 ? 1e6 : 5e6; }

Json llama_config(const ModelShape& s, int64_t context) {
  models::LlamaConfig c;
  c.vocab_size = s.vocab, c.hidden_size = s.width, c.intermediate_size = s.ffn, c.num_hidden_layers = s.layers;
  c.num_attention_heads = s.n_head, c.num_key_value_heads = s.n_head_kv, c.head_dim = s.head_dim;
  c.max_position_embeddings = context, c.rms_norm_eps = 1e-5, c.rope_theta = rope_theta(context);
  c.tie_word_embeddings = true;
  return c.to_hf();
}

Json zaya_config(const ModelShape& s, int64_t context) {
  models::ZayaConfig c;
  c.vocab_size = s.vocab, c.hidden_size = s.width, c.num_hidden_layers = s.layers;
  c.num_attention_heads = s.n_head, c.num_key_value_heads = s.n_head_kv, c.head_dim = s.head_dim;
  c.moe_intermediate_size = s.ffn, c.num_experts = s.experts, c.router_hidden_size = s.router;
  c.max_position_embeddings = context, c.rope["hybrid"] = {rope_theta(context), 0.5};
  c.layer_types.assign(static_cast<size_t>(s.layers), "hybrid");
  return c.to_hf();
}

Json zamba2_config(const ModelShape& s, int64_t context) {
  models::Zamba2Config c;
  c.vocab_size = s.vocab, c.hidden_size = s.width, c.num_hidden_layers = s.layers;
  c.num_attention_heads = s.n_head, c.mamba_d_state = s.state;
  c.n_mamba_heads = 2 * s.width / std::min<int64_t>(64, s.width / 4);
  c.num_mem_blocks = s.blocks, c.adapter_rank = s.adapter_rank;
  c.max_position_embeddings = context, c.use_mem_rope = true;
  std::vector<bool> hybrid(static_cast<size_t>(s.layers));
  for (int64_t i = 0; i < s.invocations; ++i)
    hybrid[static_cast<size_t>((2 * i + 1) * s.layers / (2 * s.invocations))] = true;
  c.layers_block_type = models::zamba_layer_names(hybrid);
  return c.to_hf();
}

}  // namespace

Json model_config(const ModelShape& s, int64_t context) {
  switch (s.family) {
    case Family::llama:
      return llama_config(s, context);
    case Family::zaya:
      return zaya_config(s, context);
    case Family::zamba2:
      return zamba2_config(s, context);
  }
  return {};
}

}  // namespace quern::plan
