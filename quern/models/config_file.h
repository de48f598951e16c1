// config.json as Python writes it: numbers that JSON does not have (Infinity, NaN; time_step_limit in files of Mamba-2
// hybrids) become {"__float__": "Infinity"}, as newer files spell them.
#pragma once
#include <filesystem>

#include "quern/base/json.h"

namespace quern::models {

Json read_config_file(const std::filesystem::path& file);  // throws Error naming the file and what is wrong there

}  // namespace quern::models
