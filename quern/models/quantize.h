// Quantizes a model folder (format: quantized_file.h).
#pragma once
#include <filesystem>
#include <functional>
#include <span>

#include "quern/models/mixed_precision.h"
#include "quern/models/quantized_file.h"
#include "quern/nn/registry.h"

namespace quern::models {

// Stores the most sensitive matrices of a q4 body in q8, as far as a budget reaches; both may be given.
struct MixedPrecision {
  std::optional<int64_t> max_bytes = {};  // of model.safetensors
  std::optional<double> max_bits = {};    // per weight of the quantized matrices, their scales included
  std::span<const int32_t> text = {};     // sensitivity is measured on it; empty: the default order
  std::function<void(const MatrixGroup&)> progress = {};  // as each is measured
  std::function<void(const std::vector<MatrixGroup>&)> report = {};
  bool on() const { return max_bytes || max_bits; }
};

struct QuantizeOptions {
  kernels::QuantFormat body{kernels::WeightFormat::q8}, head{kernels::WeightFormat::q8};
  // Text run through the bf16 model first: weights are rounded so that outputs on it change little.
  std::span<const int32_t> calibration = {};
  std::function<void(const QuantizationRecorder::Row&)> report = {};
  MixedPrecision mixed = {};
};

// The matrices' budget in bytes, when the other tensors take `plain` bytes.
int64_t matrix_budget(const MixedPrecision& mixed, const QuantizedShape& shape, int64_t plain);
// Throws Error where the options ask for mixed precision and the body is not q4.
void check_mixed(const QuantizeOptions& o);
// Of every matrix of the shape.
std::vector<kernels::QuantFormat> formats_of(const QuantizedShape& shape);

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
