// Quantizes a model folder (format: quantized_file.h).
#pragma once
#include <filesystem>
#include <functional>
#include <span>

#include "quern/models/quantized_file.h"
#include "quern/nn/registry.h"

namespace quern::models {

struct QuantizeOptions {
  kernels::QuantFormat body{kernels::WeightFormat::q8}, head{kernels::WeightFormat::q8};
  // Text run through the bf16 model first: weights are rounded so that outputs on it change little.
  std::span<const int32_t> calibration = {};
  std::function<void(const QuantizationRecorder::Row&)> report = {};
};

// Writes `to` as a whole or not at all: everything is made in a sibling folder, which is renamed at the end.
void quantize_folder(const nn::Registry& registry, const std::filesystem::path& from, const std::filesystem::path& to,
                     const QuantizeOptions& options);

// The same from a model in memory that was packed through `recorder`: its blobs, the parameters that were not packed,
// the configuration; `companions` writes what else belongs into the folder it is given.
void save_quantized(Model& model, const QuantizationRecorder& recorder, const NamedTensors& plain,
                    const std::filesystem::path& to, const QuantizeOptions& options,
                    const std::function<void(const std::filesystem::path&)>& companions);
void check_quantized_target(const std::filesystem::path& to, const QuantizeOptions& options);

}  // namespace quern::models
