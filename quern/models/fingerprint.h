// A short name for what a model computes, so that states, caches and caches of caches never meet the wrong weights:
// 16 hex digits over config.json, tokenizer.json, and of every file of weights its size, its beginning and samples
// of its bytes all through. Two trainings of one shape differ in it; the folder's name and place do not matter.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace quern {

uint64_t content_hash(std::span<const std::byte> bytes, uint64_t seed = 0);

// `model`: a folder or a .gguf file. `how`: how its weights are kept (scheme, head, dtype), part of the name.
std::string model_fingerprint(const std::filesystem::path& model, const std::string& how,
                              const std::optional<std::filesystem::path>& adapter = {});

}  // namespace quern
