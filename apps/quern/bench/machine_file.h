// The file of this machine for quern plan: `quern bench host --machine FILE` makes it, `quern bench comm --machine FILE`
// adds what ranks have of each other.
#pragma once
#include <string>

#include "quern/plan/machine.h"

namespace quern::cli {

// Throws Error where the file is missing or describes another machine.
plan::Machine read_own_machine(const std::string& file);
// The same, or a machine without values where there is no file.
plan::Machine own_machine(const std::string& file);

}  // namespace quern::cli
