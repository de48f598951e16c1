// The Mamba-2 part of GGUF files: ssm.* keys as the mamba_* fields of config.json, and the tensors of a layer.
//   ssm_a is −exp(A_log), [heads, 1];  ssm_d [heads, 1];  ssm_conv1d [channels, taps];  ssm_norm [groups, inner/groups]
#pragma once
#include "quern/gguf/gguf_metadata.h"
#include "quern/gguf/gguf_tensors.h"

namespace quern::gguf {

struct GgufSsm {
  int64_t taps, inner, states, heads, groups;
};
GgufSsm ssm_sizes(GgufMetadata& m);
// Layer `layer` under the prefix `hf` ("model.layers.3.mamba.").
void mamba2_tensors(GgufTensors& t, int64_t layer, const std::string& hf);

}  // namespace quern::gguf
