// Granite-4 hybrids and Bamba: pre-norm layers of Mamba-2 or attention, a feed-forward behind each. In Granite a
// router may send every token to experts beside it; checkpoints store [gate ‖ up] in one matrix:
//   mamba.*, self_attn.*, shared_mlp.{input_linear, output_linear},
//   block_sparse_moe.{router.layer, input_linear, output_linear}  (transformers names these while it runs
//   router, experts.gate_up_proj and experts.down_proj, which are read as well)
#pragma once
#include "quern/models/bamba/granite_config.h"
#include "quern/models/pre_norm_model.h"

namespace quern::models {

class GraniteModel : public PreNormModel {
 public:
  explicit GraniteModel(GraniteConfig config);

  std::string family() const override { return config_.model_type; }
  int64_t max_positions() const override { return context_; }
  Json config() const override { return config_.to_hf(); }
  std::vector<std::string> other_names(const std::string& name) const override;
  bool ignorable(const std::string& tensor) const override;

 private:
  GraniteConfig config_;
  int64_t context_;
};

}  // namespace quern::models
