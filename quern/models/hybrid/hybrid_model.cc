#include "quern/models/hybrid/hybrid_model.h"

#include "quern/ffn/dense/dense_ffn.h"

namespace quern::models {
namespace {

ffn::DenseConfig ffn_config(const HybridConfig& c) {
  ffn::DenseConfig f;
  f.width = c.hidden_size;
  f.hidden = c.intermediate_size;
  f.act = kernels::parse_activation(c.hidden_act);
  f.gated = c.gated;
  return f;
}

}  // namespace

HybridModel::HybridModel(HybridConfig config, const nn::Registry& registry)
    : PreNormModel({config.vocab_size, config.hidden_size, config.tie_word_embeddings, config.rms_norm_eps,
                    "post_mixer_layernorm"}),
      config_(std::move(config)) {
  for (const std::string& name : config_.layers) {
    const HybridConfig::Named m = config_.mixer(name);
    add_block({"mixer", registry.mixers.make(m.type, m.fields)},
              {"mlp", std::make_unique<ffn::DenseFfn>(ffn_config(config_))});
  }
}

void register_hybrid(nn::Registry& r) {
  r.models.add("hybrid", [&r](const Json& config, const TensorFolder*) -> std::unique_ptr<Model> {
    return std::make_unique<HybridModel>(HybridConfig::from_hf(config), r);
  });
}

}  // namespace quern::models
