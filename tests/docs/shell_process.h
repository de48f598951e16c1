// A bash script in a process group of its own, for a bounded time.
#pragma once
#include <filesystem>
#include <optional>

namespace quern::docs {

struct ScriptRun {
  std::filesystem::path script, log, home;  // log gets what the script prints; home becomes $HOME
  double seconds = 0;
};

// The script's exit status, or nothing if it ran past the limit. The binary under test is `quern` for it, mpirun may be
// root and start more ranks than there are cores. At the end everything that it started is killed.
std::optional<int> run_script(const ScriptRun& run);

}  // namespace quern::docs
