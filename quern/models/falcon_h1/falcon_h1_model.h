// Falcon-H1: in every layer attention and Mamba-2 read the same normed rows, and both are added to the stream:
//   r += a_out·Attention(a_in·norm(r)) + s_out·Mamba(s_in·norm(r));  r += FFN(norm(r))
#pragma once
#include "quern/models/falcon_h1/falcon_h1_config.h"
#include "quern/models/pre_norm_model.h"

namespace quern::models {

class FalconH1Model : public PreNormModel {
 public:
  explicit FalconH1Model(FalconH1Config config);

  std::string family() const override { return "falcon_h1"; }
  int64_t max_positions() const override { return context_; }
  Json config() const override { return config_.to_hf(); }
  bool ignorable(const std::string& tensor) const override;

 private:
  FalconH1Config config_;
  int64_t context_;
};

}  // namespace quern::models
