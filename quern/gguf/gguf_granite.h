// GGUF files of architecture granitehybrid as Hugging Face folders of Granite-4 hybrids and of Bamba, which is stored as
// one: rotary positions and none of Granite's multipliers. granite and granitemoe, attention in every layer, are the
// same model without Mamba layers.
#pragma once
#include "quern/gguf/gguf_metadata.h"
#include "quern/gguf/gguf_tensors.h"

namespace quern::gguf {

Json granite_config(GgufMetadata& m);
void granite_tensors(GgufTensors& t, const Json& config);

}  // namespace quern::gguf
