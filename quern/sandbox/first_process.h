// The first process of a sandbox's pid namespace. It builds the file system, waits for a command, runs it without
// privileges, watches memory and CPU time, and reports. Its end, or that of the caller, ends every process inside.
#pragma once
#include "quern/sandbox/sandbox.h"

namespace quern::sandbox {

constexpr int kControl = 3;  // the socket to the caller; 0 to 2 are the streams of the command

// In new namespaces and as their first process, with what open_read_folders() gave.
[[noreturn]] void run_first_process(const Policy& policy, const std::vector<int>& read_folders);

}  // namespace quern::sandbox
