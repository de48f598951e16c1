#include "quern/models/mamba_hybrid/falcon_h1_model.h"
#include "quern/models/mamba_hybrid/granite_model.h"
#include "quern/models/mamba_hybrid/nemotron_h_model.h"
#include "quern/nn/registry.h"

namespace quern::models {
namespace {

template <class Family, class Config>
std::unique_ptr<Model> make(const Json& config, const TensorFolder*) {
  return std::make_unique<Family>(Config::from_hf(config));
}

}  // namespace

void register_mamba_hybrid(nn::Registry& r) {
  r.models.add("granitemoehybrid", make<GraniteModel, GraniteConfig>);
  r.models.add("bamba", make<GraniteModel, GraniteConfig>);
  r.models.add("falcon_h1", make<FalconH1Model, FalconH1Config>);
  r.models.add("nemotron_h", make<NemotronHModel, NemotronHConfig>);
}

}  // namespace quern::models
