// Zamba-7B (arXiv 2405.16712): the stack of zamba_stack.h with two-head Mamba-1 mixers, one shared block, no rotary
// positions and no adapters.
#pragma once
#include "quern/models/context_length.h"
#include "quern/models/zamba/zamba_config.h"
#include "quern/models/zamba/zamba_stack.h"

namespace quern::models {

class ZambaModel : public ZambaStack {
 public:
  explicit ZambaModel(ZambaConfig config);
  std::string family() const override { return "zamba"; }
  int64_t max_positions() const override { return accepted_length(config_.source, kAnyLength); }
  Json config() const override { return config_.to_hf(); }

 private:
  ZambaConfig config_;
};

}  // namespace quern::models
