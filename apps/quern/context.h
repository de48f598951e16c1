// What the verbs share: the registry of everything built in, and loading a folder with a word on what was left over.
#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "quern/models/checkpoint.h"

namespace quern {

const Registry& registry();
DType parse_compute_dtype(const std::string& text);  // "auto", "f32", "bf16"
std::unique_ptr<Model> load_for_inference(const std::filesystem::path& folder, const std::string& dtype);

}  // namespace quern
