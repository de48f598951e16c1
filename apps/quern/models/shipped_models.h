// The small models that come with Quern: found beside an installed binary, in the sources it was built from, or where
// QUERN_MODELS says. A model folder may then be named by its name alone.
#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace quern {

std::optional<std::filesystem::path> shipped_model(const std::string& name);
// `folder` itself when it exists, the shipped model of that name, or that of the Hugging Face cache (hub_models.h);
// else `folder`, for the error to name.
std::string model_folder(const std::string& folder);

}  // namespace quern
