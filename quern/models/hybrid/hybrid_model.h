// A stack of mixers of any kind. The registry makes the mixers, so that a new one can be trained as soon as it has a
// folder.
#pragma once
#include "quern/models/context_length.h"
#include "quern/models/hybrid/hybrid_config.h"
#include "quern/models/pre_norm_model.h"
#include "quern/nn/registry.h"

namespace quern::models {

class HybridModel : public PreNormModel {
 public:
  HybridModel(HybridConfig config, const nn::Registry& registry);

  std::string family() const override { return "hybrid"; }
  int64_t max_positions() const override {
    return accepted_length(config_.source, config_.rotary() ? config_.max_position_embeddings : kAnyLength);
  }
  Json config() const override { return config_.to_hf(); }

 private:
  HybridConfig config_;
};

}  // namespace quern::models
