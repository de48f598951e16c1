// Sandbox: runs one untrusted command in fresh Linux namespaces and stops it at its limits.
//
//   sandbox::Policy policy{.limits = {.seconds = 2}};
//   sandbox::Result r = sandbox::run(policy, {.argv = {"python3", "-c", "print(1)"}});
//
// Inside there are read-only system folders, a private /tmp and /work, no network device, no capability, a system call
// allow-list and Landlock where the kernel has it. A run never falls back to less: where a part cannot be had, run()
// throws Error and nothing is executed. Many short runs: SandboxPool (sandbox_pool.h).
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace quern::sandbox {

struct Limits {
  double seconds = 10;       // wall clock, and CPU time of all processes together
  int64_t memory_mib = 256;  // of all processes together
  int64_t processes = 16;    // threads count as processes
  int64_t output_mib = 1;    // stdout and stderr together
  int64_t disk_mib = 64;     // /tmp, /work and /dev/shm together
};

struct Policy {
  Limits limits = {};
  std::vector<std::filesystem::path> read = {};  // folders visible at the same path, read-only
};

struct InputFile {
  std::string name, text;  // /work/<name>
};

struct Command {
  std::vector<std::string> argv;  // found by PATH; runs in /work
  std::string input = {};         // standard input
  std::vector<InputFile> files = {};
};

enum class End { exit, signal, time, memory, output };
std::string_view end_name(End end);

struct Result {
  End end = End::exit;
  int status = 0;  // of End::exit
  int signal = 0;  // of End::signal; SIGKILL where a limit stopped the run
  std::string out, err;
  double wall_s = 0, cpu_s = 0;
  int64_t peak_memory = 0;  // bytes: the largest sum seen over the processes, or the peak of one of them
};

Result run(const Policy& policy,
           const Command& command);  // throws Error: not isolated, wrong policy, no such command

// The policy with absolute folders. Throws Error naming what is out of range.
Policy checked(const Policy& policy);

}  // namespace quern::sandbox
