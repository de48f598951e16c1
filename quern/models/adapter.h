// LoRA adapters in PEFT format (adapter_config.json, adapter_model.safetensors): W + s·B·A, merged as the checkpoint's
// tensors are read, so that every family, layout and quantization supports them. s = alpha / r, or alpha / √r with
// use_rslora. Other kinds (DoRA, trained biases, whole modules) are refused by name.
#pragma once
#include <filesystem>

#include "quern/tensor/safetensors.h"

namespace quern::models {

// The same tensors with the adapter worked in. Throws Error when one of its matrices finds no place.
TensorFolder with_adapter(const TensorFolder& weights, const std::filesystem::path& adapter);

}  // namespace quern::models
