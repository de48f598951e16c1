// TOML, read into our Json value (dates are refused). toml++ does the reading, in toml.cc alone.
#pragma once
#include <filesystem>
#include <string_view>

#include "quern/base/json.h"

namespace quern {

Json parse_toml(std::string_view text, std::string_view where = "TOML");
Json read_toml(const std::filesystem::path& file);

}  // namespace quern
