// quern sandbox: runs one untrusted command, isolated and limited; its output becomes the output of this process.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/standard_output.h"
#include "apps/quern/cli/verbs.h"
#include "quern/base/json.h"
#include "quern/sandbox/isolated_process.h"
#include "quern/sandbox/sandbox.h"

namespace quern::cli {
namespace {

// As timeout(1) and shells have them.
constexpr int kTimeStatus = 124, kCannotRunStatus = 126, kNotFoundStatus = 127, kKilledStatus = 137;

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
  j.set("peak_memory_mib", static_cast<double>(r.peak_memory) / (1 << 20)), j.set("error", Json());
  fmt::print("{}\n", j.dump());
}

// Nothing was run: the same keys, and why.
int tell_not_run(const std::string& why, int status, bool json) {
  if (json) {
    Json j = Json::object();
    j.set("ended", "not started"), j.set("status", Json()), j.set("signal", Json());
    j.set("stdout", ""), j.set("stderr", ""), j.set("truncated", false);
    j.set("wall_s", 0), j.set("cpu_s", 0), j.set("peak_memory_mib", 0), j.set("error", why);
    fmt::print("{}\n", j.dump());
  }
  fmt::print(stderr, "quern: {}\n", why);
  return status;
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

sandbox::Descriptor open_input(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a named pipe may have no writer yet
  if (fd < 0) fail("--stdin {}: {}", path, std::strerror(errno));
  if (std::filesystem::is_directory(path)) fail("--stdin {}: it is a folder", path);
  return sandbox::Descriptor(fd);
}

// How it was called.
struct SandboxFlags {
  sandbox::Policy policy;
  std::vector<std::string> command, read;
  std::string input;
  bool json = false;
  bool parse(Words args);  // false: it was a call for help
};

bool SandboxFlags::parse(Words args) {
  Args a("sandbox", "run an untrusted command in Linux namespaces, with limits");
  a.settings(policy.limits)
      .flag("--read DIR", read, "make a folder visible at the same path, read-only (repeatable)")
      .flag("--stdin FILE", input, "standard input of the command; - is that of this process [empty]")
      .json(json, "the result and the output as one JSON object")
      .rest("COMMAND", command)
      .note(
          "Write -- before COMMAND. Its folder is /work, empty at first; it has no network. Exit status: that of "
          "the\n"
          "command, 128 + N after signal N, 124 after --seconds, 137 after another limit, 126 if COMMAND cannot be\n"
          "executed, 127 if it is not found, 1 if the system does not permit isolation; then nothing is run.\n"
          "docs/sandbox.md says what it protects from.");
  try {
    if (!a.parse(args)) return false;
  } catch (const UsageError& e) {
    const bool marked = std::ranges::find(args, "--") != args.end();
    if (command.empty() || marked) throw;
    throw UsageError(
        fmt::format("{}; write -- before the command: quern sandbox [flags] -- {} …", e.what(), command.front()));
  }
  if (command.empty()) throw UsageError("quern sandbox: no command is given: quern sandbox [flags] -- COMMAND …");
  a.check(policy.limits);
  if (std::ranges::find(read, "") != read.end())
    throw UsageError("quern sandbox: --read '': expected the path of a folder");
  policy.read.assign(read.begin(), read.end());
  return true;
}

}  // namespace

int cmd_sandbox(Words args) {
  SandboxFlags f;
  if (!f.parse(args)) return 0;
  sandbox::Command c{.argv = f.command};
  sandbox::Descriptor file;
  if (f.input == "-") {
    if (::fcntl(STDIN_FILENO, F_GETFD) < 0) fail("--stdin -: standard input is closed");
    c.input_descriptor = STDIN_FILENO;
  } else if (!f.input.empty()) {
    file = open_input(f.input);
    c.input_descriptor = file.get();
  }
  sandbox::Result r;
  try {
    r = sandbox::run(f.policy, c);
  } catch (const sandbox::CommandError& e) {
    return tell_not_run(e.what(), e.reason == ENOENT ? kNotFoundStatus : kCannotRunStatus, f.json);
  } catch (const Error& e) {
    return tell_not_run(e.what(), 1, f.json);
  }
  if (f.json) {
    print_json(r);
  } else {
    std::fwrite(r.err.data(), 1, r.err.size(), stderr);
    tell_limit(r, f.policy.limits);
    write_output(r.out);
  }
  return exit_status(r);
}

}  // namespace quern::cli
