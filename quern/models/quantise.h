// A model folder into a packed folder (see packed_file.h).
#pragma once
#include <filesystem>
#include <functional>
#include <span>

#include "quern/models/packed_file.h"
#include "quern/nn/registry.h"

namespace quern {

struct QuantiseOptions {
  WeightScheme body{WeightFormat::q8}, head{WeightFormat::q8};
  // Text the scales are fitted to: tokens run through the bf16 model first, and inputs that are large count more.
  std::span<const int32_t> calibration = {};
  std::function<void(const PackedRecorder::Row&)> report = {};
};

// Writes `to` as a whole or not at all: everything is made in a sibling folder, which is renamed at the end.
void quantise_folder(const Registry& registry, const std::filesystem::path& from, const std::filesystem::path& to,
                     const QuantiseOptions& options);

}  // namespace quern
