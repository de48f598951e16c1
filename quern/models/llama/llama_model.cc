#include "quern/models/llama/llama_model.h"

#include "quern/ffn/dense/dense_ffn.h"
#include "quern/mixers/attention/attention_mixer.h"
#include "quern/models/context_length.h"
#include "quern/nn/registry.h"

namespace quern::models {
namespace {

mixers::AttentionConfig attention_config(const LlamaConfig& c, int64_t k) {
  mixers::AttentionConfig a;
  a.width = c.hidden_size;
  a.n_head = c.num_attention_heads;
  a.n_head_kv = c.kv_heads();
  a.head_dim = c.head_size();
  a.rotary_dims = c.head_size();
  a.rope = c.rope().config;
  a.window = c.window(k);
  a.qkv_bias = c.qkv_bias();
  a.o_bias = c.o_bias();
  a.qk_norm = c.model_type == "qwen3";
  a.qk_norm_eps = c.rms_norm_eps;
  return a;
}

ffn::DenseConfig ffn_config(const LlamaConfig& c) {
  ffn::DenseConfig f;
  f.width = c.hidden_size;
  f.hidden = c.intermediate_size;
  f.act = kernels::parse_activation(c.hidden_act);
  f.bias = c.mlp_bias;
  return f;
}

}  // namespace

LlamaModel::LlamaModel(LlamaConfig config)
    : PreNormModel({config.vocab_size, config.hidden_size, config.tie_word_embeddings, config.rms_norm_eps}),
      config_(std::move(config)),
      context_(accepted_length(config_.source, config_.rope().context)) {
  for (int64_t k = 0; k < config_.num_hidden_layers; ++k)
    add_block({"self_attn", std::make_unique<mixers::AttentionMixer>(attention_config(config_, k))},
              {"mlp", std::make_unique<ffn::DenseFfn>(ffn_config(config_))});
}

bool LlamaModel::ignorable(const std::string& t) const {
  return PreNormModel::ignorable(t) || t.ends_with("rotary_emb.inv_freq");
}

void register_llama(nn::Registry& r) {
  for (const char* type : {"llama", "mistral", "qwen2", "qwen3"})
    r.models.add(type, [](const Json& config, const TensorFolder*) -> std::unique_ptr<Model> {
      return std::make_unique<LlamaModel>(LlamaConfig::from_hf(config));
    });
}

}  // namespace quern::models
