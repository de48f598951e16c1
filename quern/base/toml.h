// TOML, parsed into Json values (dates are refused). toml++ does the parsing, only in toml.cc.
#pragma once
#include <filesystem>
#include <string_view>

#include "quern/base/json.h"

namespace quern {

Json parse_toml(std::string_view text, std::string_view where = "TOML");
Json read_toml(const std::filesystem::path& file);

}  // namespace quern
