// Where a ZAYA parameter lies in the legacy (2025) layout. Names are given in the current layout.
// Half-layer 2k holds block k's attention, 2k+1 its MoE. Residual scales sit at the entry of a half-layer there and
// at the exit of a mixer here: the MoE's is the next block's first, the last one stands alone as model.res_scale.
#pragma once
#include <memory>
#include <string>

#include "quern/base/json.h"
#include "quern/models/layout.h"

namespace quern::models {

LayoutPlace zaya_legacy_place(const std::string& name, int64_t n_blocks);
std::unique_ptr<CheckpointLayout> zaya_legacy_layout(const Json& config);  // config.json in the current form

// An interim layout was published too (zaya_block, post_mlp_res_scale, self_attn.temp, post_attention_norm).
std::string zaya_interim_name(const std::string& name);

}  // namespace quern::models
