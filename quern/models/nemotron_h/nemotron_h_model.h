// Nemotron-H: one norm and one mixer or feed-forward per layer. Tensors are named as transformers names them while it
// runs, and PEFT in adapters: model.…; published files say backbone.…, which is read as well.
#pragma once
#include "quern/models/context_length.h"
#include "quern/models/nemotron_h/nemotron_h_config.h"
#include "quern/models/pre_norm_model.h"

namespace quern::models {

class NemotronHModel : public PreNormModel {
 public:
  explicit NemotronHModel(NemotronHConfig config);

  std::string family() const override { return "nemotron_h"; }
  int64_t max_positions() const override { return accepted_length(config_.source, kAnyLength); }
  Json config() const override { return config_.to_hf(); }
  std::vector<std::string> other_names(const std::string& name) const override;

 private:
  NemotronHConfig config_;
};

}  // namespace quern::models
