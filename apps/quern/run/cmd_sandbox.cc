// quern sandbox: runs one untrusted command, isolated and limited; its output becomes the output of this process.
#include <cstdio>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/standard_input.h"
#include "apps/quern/cli/verbs.h"
#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/sandbox/sandbox.h"

namespace quern::cli {
namespace {

constexpr int kTimeStatus = 124, kKilledStatus = 137;  // as timeout(1) and shells have them

int exit_status(const sandbox::Result& r) {
  switch (r.end) {
    case sandbox::End::exit:
      return r.status;
    case sandbox::End::signal:
      return 128 + r.signal;
    case sandbox::End::time:
      return kTimeStatus;
    default:
      return kKilledStatus;
  }
}

void print_json(const sandbox::Result& r) {
  Json j = Json::object();
  j.set("ended", sandbox::end_name(r.end));
  j.set("status", r.end == sandbox::End::exit ? Json(r.status) : Json());
  j.set("signal", r.signal != 0 ? Json(r.signal) : Json());
  j.set("stdout", r.out), j.set("stderr", r.err);
  j.set("truncated", r.end == sandbox::End::output);
  j.set("wall_s", r.wall_s), j.set("cpu_s", r.cpu_s);
  j.set("peak_memory_mib", static_cast<double>(r.peak_memory) / (1 << 20));
  fmt::print("{}\n", j.dump());
}

void tell_limit(const sandbox::Result& r, const sandbox::Limits& l) {
  switch (r.end) {
    case sandbox::End::time:
      return fmt::print(stderr, "quern sandbox: stopped after {:.2f} s, {:.2f} s of CPU time (--seconds {})\n",
                        r.wall_s, r.cpu_s, l.seconds);
    case sandbox::End::memory:
      return fmt::print(stderr, "quern sandbox: stopped at {} MiB of memory (--memory-mib {})\n", r.peak_memory >> 20,
                        l.memory_mib);
    case sandbox::End::output:
      return fmt::print(stderr, "quern sandbox: stopped, the output is cut off (--output-mib {})\n", l.output_mib);
    default:
      return;
  }
}

}  // namespace

int cmd_sandbox(Words args) {
  sandbox::Policy policy;
  sandbox::Limits& l = policy.limits;
  std::vector<std::string> command, read;
  std::string input;
  bool json = false;
  Args a("sandbox", "run an untrusted command in Linux namespaces, with limits");
  a.flag("--seconds S", l.seconds, "limit of the wall clock, and of the CPU time of all processes together")
      .flag("--memory-mib MIB", l.memory_mib, "memory limit of all processes together")
      .flag("--processes N", l.processes, "maximum number of processes and threads")
      .flag("--output-mib MIB", l.output_mib, "maximum size of stdout and stderr together")
      .flag("--disk-mib MIB", l.disk_mib, "size of /tmp, /work and /dev/shm together")
      .flag("--read DIR", read, "make a folder visible at the same path, read-only (repeatable)")
      .flag("--stdin FILE", input, "standard input of the command; - is that of this process [empty]")
      .json(json, "the result and the output as one JSON object")
      .rest("COMMAND", command)
      .note(
          "Write -- before COMMAND. Its folder is /work, empty at first; it has no network. Exit status: that of "
          "the\n"
          "command, 128 + N after signal N, 124 after --seconds, 137 after another limit, 1 if the system does not\n"
          "permit isolation; then nothing is run. docs/sandbox.md says what it protects from.");
  if (!a.parse(args)) return 0;
  if (command.empty()) throw UsageError("quern sandbox: no command is given: quern sandbox [flags] -- COMMAND …");
  policy.read.assign(read.begin(), read.end());
  sandbox::Command c{.argv = command};
  if (!input.empty()) c.input = input == "-" ? standard_input() : read_file(input);
  const sandbox::Result r = sandbox::run(policy, c);
  if (json) {
    print_json(r);
  } else {
    std::fwrite(r.out.data(), 1, r.out.size(), stdout);
    std::fflush(stdout);
    std::fwrite(r.err.data(), 1, r.err.size(), stderr);
    tell_limit(r, l);
  }
  return exit_status(r);
}

}  // namespace quern::cli
