// Zamba2 (arXiv 2411.15242): the stack of quern/models/zamba with Mamba-2 mixers, one or two alternating shared
// blocks, low-rank adapters for every invocation, rotary positions in some sizes.
#pragma once
#include "quern/models/context_length.h"
#include "quern/models/zamba/zamba_stack.h"
#include "quern/models/zamba2/zamba2_config.h"

namespace quern::models {

class Zamba2Model : public ZambaStack {
 public:
  explicit Zamba2Model(Zamba2Config config);
  std::string family() const override { return "zamba2"; }
  int64_t max_positions() const override { return accepted_length(config_.source, config_.context()); }
  Json config() const override { return config_.to_hf(); }
  bool ignorable(const std::string& tensor) const override;

 protected:
  std::string other_name(const std::string& name) const override;

 private:
  Zamba2Config config_;
};

// A parameter's place in the layout of 2024 (model.blocks, model.mamba_layers, model.linear_layers), given its name
// in the current one and the hybrid layers. There every block stores adapters of all invocations; only those of its
// own turns are used.
std::string zamba2_legacy_name(const std::string& name, const std::vector<int64_t>& hybrid_layers);

}  // namespace quern::models
