// LoRA adapters as PEFT folders hold them (adapter_config.json, adapter_model.safetensors): W + s·B·A, worked in as
// the checkpoint's tensors are read, so that every family, layout and packing takes them. s = alpha / r, or alpha / √r
// with use_rslora. Kinds that are more than that (DoRA, trained biases, whole modules) are refused by name.
#pragma once
#include <filesystem>

#include "quern/tensor/safetensors.h"

namespace quern {

// The same tensors with the adapter worked in. Throws Error when one of its matrices finds no place.
TensorFolder with_adapter(const TensorFolder& weights, const std::filesystem::path& adapter);

}  // namespace quern
