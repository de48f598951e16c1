#include "quern/models/nemotron_h/nemotron_h_model.h"

#include "quern/ffn/dense/dense_ffn.h"
#include "quern/mixers/attention/attention_mixer.h"
#include "quern/nn/registry.h"

namespace quern::models {
namespace {

constexpr std::string_view kRoot = "model.";

PreNormShape shape_of(const NemotronHConfig& c) {
  PreNormShape s{c.vocab_size, c.hidden_size, c.tie_word_embeddings, c.layer_norm_epsilon};
  s.ffn_norm = s.mixer_norm = "norm", s.final_norm = "norm_f";
  s.embedding = "embeddings";
  return s;
}

mixers::AttentionConfig attention_config(const NemotronHConfig& c) {
  mixers::AttentionConfig a;
  a.width = c.hidden_size;
  a.n_head = c.num_attention_heads;
  a.n_head_kv = c.kv_heads();
  a.head_dim = c.head_dim;
  return a;
}

ffn::DenseConfig ffn_config(const NemotronHConfig& c) {
  ffn::DenseConfig f;
  f.width = c.hidden_size;
  f.hidden = c.intermediate_size;
  f.act = kernels::Activation::relu;
  f.squared = true;
  f.gated = false;
  f.bias = c.mlp_bias;
  return f;
}

}  // namespace

NemotronHModel::NemotronHModel(NemotronHConfig config) : PreNormModel(shape_of(config)), config_(std::move(config)) {
  for (const NemotronLayer kind : config_.layers()) {
    Part<mixers::Mixer> mixer{"mixer", nullptr};
    Part<ffn::Ffn> ffn{"mixer", nullptr};
    if (kind == NemotronLayer::mamba)
      mixer.layer = std::make_unique<mixers::Mamba2Mixer>(config_.mixer());
    else if (kind == NemotronLayer::attention)
      mixer.layer = std::make_unique<mixers::AttentionMixer>(attention_config(config_));
    else
      ffn.layer = std::make_unique<ffn::DenseFfn>(ffn_config(config_));
    add_block(std::move(mixer), std::move(ffn));
  }
}

std::vector<std::string> NemotronHModel::other_names(const std::string& name) const {
  if (!name.starts_with(kRoot)) return {};
  return {"backbone." + name.substr(kRoot.size())};
}

void register_nemotron_h(nn::Registry& r) {
  r.models.add("nemotron_h", [](const Json& config, const TensorFolder*) -> std::unique_ptr<Model> {
    return std::make_unique<NemotronHModel>(NemotronHConfig::from_hf(config));
  });
}

}  // namespace quern::models
