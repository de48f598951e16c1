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

#include "quern/base/error.h"
#include "quern/base/setting.h"

namespace quern::sandbox {

struct Limits {
  double seconds = 10;       // wall clock, and CPU time of all processes together
  int64_t memory_mib = 256;  // of all processes together
  int64_t processes = 16;    // threads count as processes
  int64_t output_mib = 1;    // stdout and stderr together
  int64_t disk_mib = 64;     // /tmp, /work and /dev/shm together
  template <class V>
  void visit(V& v) {
    v("seconds", seconds, "limit of the wall clock, and of the CPU time of all processes together",
      {.value = "S", .range = Bounds::above(0).up_to(86400)});
    v("memory_mib", memory_mib, "memory limit of all processes together",
      {.value = "MIB", .range = Bounds::between(1, 1 << 20)});
    v("processes", processes, "maximum number of processes and threads", {.range = Bounds::between(1, 4096)});
    v("output_mib", output_mib, "maximum size of stdout and stderr together",
      {.value = "MIB", .range = Bounds::between(1, 1024)});
    v("disk_mib", disk_mib, "size of /tmp, /work and /dev/shm together",
      {.value = "MIB", .range = Bounds::between(1, 1 << 20)});
  }
};

struct FolderLink {
  std::filesystem::path at, to;
};

struct Policy {
  Limits limits = {};
  // Folders visible at the same path, read-only. One that was given by a symbolic link is visible at that path too.
  std::vector<std::filesystem::path> read = {};
  std::vector<FolderLink> links = {};  // filled by checked(): what was a symbolic link in `read`
};

struct InputFile {
  std::string name, text;  // /work/<name>
};

struct Command {
  std::vector<std::string> argv;  // found by PATH; runs in /work
  std::string input = {};         // standard input
  std::vector<InputFile> files = {};
  // Instead of `input`, where not negative: standard input is read from here while the command runs, and no further
  // than it is wanted. Stays open.
  int input_descriptor = -1;
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

// The command is none that can be executed; everything around it stood.
class CommandError : public Error {
 public:
  CommandError(const std::string& what, int reason) : Error(what), reason(reason) {}
  int reason;  // errno of exec: ENOENT, EACCES, …
};

// Throws Error: not isolated, wrong policy, wrong input files; CommandError.
Result run(const Policy& policy, const Command& command);

// The policy with absolute folders, none of them within another. Throws Error naming what is out of range.
Policy checked(const Policy& policy);

}  // namespace quern::sandbox
