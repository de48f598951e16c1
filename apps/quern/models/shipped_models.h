// Files that come with Quern. They lie in share/quern of the prefix that holds the binary; a build folder has the same
// layout, with links to the sources (apps/quern/CMakeLists.txt).
#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace quern::cli {

constexpr const char* kShippedModel = "zaya-nano";  // where a verb names no model

// share/quern/NAME, if it exists.
std::optional<std::filesystem::path> shipped_file(const std::string& name);
// A model of that name in the folder that QUERN_MODELS names, or among the shipped ones: a model folder may be named by
// its name alone.
std::optional<std::filesystem::path> shipped_model(const std::string& name);
// `folder` itself when it exists, the shipped model of that name, or that of the Hugging Face cache (hub_models.h);
// else `folder`, for the error to name. An error where a model has almost that name.
std::string model_folder(const std::string& folder);

}  // namespace quern::cli
