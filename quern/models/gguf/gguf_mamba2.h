// The Mamba-2 part of GGUF files: ssm.* keys as the mamba_* fields of config.json, and the tensors of a layer.
//   ssm_a is −exp(A_log), [heads, 1];  ssm_d [heads, 1];  ssm_conv1d [channels, taps];  ssm_norm [groups, inner/groups]
#pragma once
#include "quern/models/gguf/gguf_metadata.h"
#include "quern/models/gguf/gguf_tensors.h"

namespace quern::models {

struct GgufSsm {
  int64_t taps, inner, states, heads, groups;
};
GgufSsm gguf_ssm(GgufMetadata& m);
// Layer `layer` under the prefix `hf` ("model.layers.3.mamba.").
void gguf_mamba2_tensors(GgufTensors& t, int64_t layer, const std::string& hf);

}  // namespace quern::models
