// A model of a published shape with random weights, made in memory: nothing to download, and the speed of the real
// one.
#pragma once
#include <memory>
#include <string>

#include "quern/models/model.h"

namespace quern::cli {

// shape: FAMILY-SIZE as in `quern new` ("zamba2-2.7b"; "zaya1-8b" is zaya 8b); scheme: f32, bf16, q8, q4 or q8a8 (the
// head of a quantized model is q8)
// paths: where adapters may stand beside the matrices (models/adapter_sites.h).
std::unique_ptr<models::Model> random_model(const std::string& shape, const std::string& scheme,
                                            nn::LowRankSource* paths = nullptr);
std::unique_ptr<models::Model> random_model(const Json& config, const nn::WeightPrepacking& packing);
int64_t resident_bytes();  // of this process, from /proc

}  // namespace quern::cli
