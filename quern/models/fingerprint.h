// Fingerprint of a model, so that saved states are never used with the wrong weights: 16 hex digits over config.json,
// tokenizer.json, and of every weight file its size, its header and samples: 64 bytes of the middle of every tensor,
// and 256 pages throughout. Training changes every value of a tensor, so another training has another fingerprint; a
// tensor edited by hand outside the samples has not. The folder's name and location do not matter.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace quern::models {

uint64_t content_hash(std::span<const std::byte> bytes, uint64_t seed = 0);

// `model`: a folder or a .gguf file. `how`: how its weights are kept (scheme, head, dtype), part of the name.
std::string model_fingerprint(const std::filesystem::path& model, const std::string& how,
                              const std::optional<std::filesystem::path>& adapter = {});

}  // namespace quern::models
