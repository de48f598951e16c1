// A task file as an environment to learn from: its problems are the file's training tasks, as they stand, without
// difficulties. Where no task is held out by name, a tenth is, as read_tasks() has it.
#pragma once
#include <filesystem>
#include <memory>

#include "quern/gym/environment.h"

namespace quern::gym {

// Throws Error naming file, line and field, and for a file without a training task.
std::unique_ptr<const Environment> task_environment(const std::filesystem::path& f);

}  // namespace quern::gym
