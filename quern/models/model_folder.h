// Writing a model folder as a whole or not at all: everything is made in a sibling folder, which is renamed at the end.
#pragma once
#include <filesystem>
#include <functional>

namespace quern::models {

// Throws Error when `to` exists and is not an empty folder.
void check_new_folder(const std::filesystem::path& to);
void write_folder(const std::filesystem::path& to, const std::function<void(const std::filesystem::path&)>& fill);

// Tokenizer, template, generation settings: whatever lies beside the weights of a folder or a .gguf file.
void copy_companions(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace quern::models
