#include "quern/models/zamba/zamba_model.h"

#include "quern/mixers/mamba1/mamba1_mixer.h"
#include "quern/nn/registry.h"

namespace quern::models {
namespace {

ZambaStackConfig stack_config(const ZambaConfig& c) {
  ZambaStackConfig s;
  s.vocab = c.vocab_size;
  s.width = c.hidden_size;
  s.eps = c.rms_norm_eps;
  s.tied = c.tie_word_embeddings;
  s.hybrid = zamba_hybrid_layers(c.layers_block_type);
  s.block_name = "shared_transf";
  s.block.width = c.hidden_size;
  s.block.n_head = c.num_attention_heads;
  s.block.n_head_kv = c.num_key_value_heads;
  s.block.ffn = c.intermediate_size;
  s.block.act = kernels::parse_activation(c.hidden_act);
  s.block.eps = c.rms_norm_eps;
  return s;
}

mixers::Mamba1Config mixer_config(const ZambaConfig& c) {
  mixers::Mamba1Config m;
  m.width = c.hidden_size;
  m.inner = c.mamba_expand * c.hidden_size;
  m.n_head = c.n_mamba_heads;
  m.n_state = c.mamba_d_state;
  m.dt_rank = c.dt_rank();
  m.taps = c.mamba_d_conv;
  m.conv_bias = c.mamba_conv_bias;
  m.proj_bias = c.mamba_proj_bias;
  return m;
}

}  // namespace

ZambaModel::ZambaModel(ZambaConfig config)
    : ZambaStack(stack_config(config), [&] { return std::make_unique<mixers::Mamba1Mixer>(mixer_config(config)); }),
      config_(std::move(config)) {}

void register_zamba(nn::Registry& r) {
  r.models.add("zamba", [](const Json& config, const TensorFolder*) -> std::unique_ptr<Model> {
    return std::make_unique<ZambaModel>(ZambaConfig::from_hf(config));
  });
}

}  // namespace quern::models
