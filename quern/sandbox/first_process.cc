#include "quern/sandbox/first_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>

#include "quern/base/error.h"
#include "quern/sandbox/channel.h"
#include "quern/sandbox/process_usage.h"
#include "quern/sandbox/root_folder.h"
#include "quern/sandbox/untrusted_process.h"

namespace quern::sandbox {
namespace {

constexpr int kWatchEveryMs = 8;

bool is_plain_name(const std::string& name) {
  return !name.empty() && name[0] != '.' && name.find('/') == name.npos && name.find('\0') == name.npos;
}

void write_files(const std::vector<InputFile>& files) {
  for (const InputFile& f : files) {
    if (!is_plain_name(f.name)) fail("input file '{}': expected a plain file name", f.name);
    const int fd = ::open(("/work/" + f.name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    if (fd < 0) fail_errno(fmt::format("input file '{}'", f.name));
    for (size_t at = 0; at < f.text.size();) {
      const ssize_t n = ::write(fd, f.text.data() + at, f.text.size() - at);
      if (n <= 0) fail_errno(fmt::format("input file '{}'", f.name));
      at += static_cast<size_t>(n);
    }
    ::close(fd);
  }
}

class Watch {
 public:
  explicit Watch(const Limits& limits) : limits_(limits) {}
  int64_t peak() const { return peak_; }

  std::optional<End> exceeded() {
    const ProcessUsage u = process_usage();
    const int64_t limit = limits_.memory_mib << 20;
    int64_t memory = u.memory;
    if (memory > limit) memory = proportional_memory();
    peak_ = std::max({peak_, memory, u.peak});
    if (memory > limit) return End::memory;
    if (u.cpu_s > limits_.seconds) return End::time;
    return std::nullopt;
  }

 private:
  Limits limits_;
  int64_t peak_ = 0;
};

struct Ending {
  std::optional<End> stopped;  // by a limit
  int status = 0;              // as waitpid says it
};

// Until the command ends, a limit is hit, or the caller says stop or is gone. Ended orphans are collected meanwhile.
Ending watch_command(pid_t command, int child_signals, Watch& watch) {
  Ending e;
  while (true) {
    pollfd p[2] = {{kControl, POLLIN, 0}, {child_signals, POLLIN, 0}};
    ::poll(p, 2, kWatchEveryMs);
    if (p[1].revents != 0) {
      signalfd_siginfo drained[8];
      [[maybe_unused]] const ssize_t n = ::read(child_signals, drained, sizeof(drained));
    }
    int status = 0;
    for (pid_t ended; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;)
      if (ended == command) {
        e.status = status;
        return e;
      }
    if (p[0].revents != 0) {
      e.stopped = End::time;  // the caller knows better why
      return e;
    }
    if (const auto limit = watch.exceeded()) {
      e.stopped = limit;
      return e;
    }
  }
}

// Nothing that was started survives this: a process cannot leave its pid namespace.
void end_all_others() {
  ::kill(-1, SIGKILL);
  while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
}

// Taking the namespaces down holds a core for milliseconds, and the kernel is not interrupted in it: not before the caller
// has read its result and lets go.
void wait_for_the_caller() {
  char more[64];
  for (ssize_t n = 1; n > 0 || (n < 0 && errno == EINTR);) n = ::read(kControl, more, sizeof(more));
}

void serve_one_command(const Policy& policy) {
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_SETMASK, &child, nullptr);
  const int child_signals = ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  if (child_signals < 0) fail_errno("signalfd");
  UntrustedProcess process(policy.limits);
  rusage self{}, all{};
  ::getrusage(RUSAGE_SELF, &self);
  send_report(kControl, {.kind = Report::Kind::ready});
  const std::optional<Command> command = receive_command(kControl);
  if (!command) return;
  try {
    write_files(command->files);
    process.execute(command->argv);
  } catch (const CommandError& e) {
    return send_failure(kControl, Report::Kind::not_started, e.what(), e.reason);
  } catch (const Error& e) {
    return send_failure(kControl, Report::Kind::not_started, e.what());
  }
  for (int fd = 0; fd < 3; ++fd) ::close(fd);  // the command's alone, so that its closing them is seen
  Watch watch(policy.limits);
  Ending e;
  if (const auto limit = watch.exceeded())
    e.stopped = limit;
  else
    e = watch_command(process.pid(), child_signals, watch);
  end_all_others();
  ::getrusage(RUSAGE_CHILDREN, &all);
  Report r{.kind = Report::Kind::ended, .value = e.status, .peak_memory = watch.peak()};
  r.cpu_us = (all.ru_utime.tv_sec + all.ru_stime.tv_sec) * 1'000'000 + all.ru_utime.tv_usec + all.ru_stime.tv_usec;
  // A child's peak begins with this process's own size: it says something only where it went above.
  if (all.ru_maxrss > self.ru_maxrss) r.peak_memory = std::max<int64_t>(r.peak_memory, all.ru_maxrss * 1024);
  const bool cpu_limit = WIFSIGNALED(e.status) && (WTERMSIG(e.status) == SIGXCPU || WTERMSIG(e.status) == SIGKILL) &&
                         static_cast<double>(r.cpu_us) >= policy.limits.seconds * 1e6;
  r.end = e.stopped ? *e.stopped : cpu_limit ? End::time : WIFSIGNALED(e.status) ? End::signal : End::exit;
  if (e.stopped) r.value = SIGKILL;
  send_report(kControl, r);
  wait_for_the_caller();
}

}  // namespace

void run_first_process(const Policy& policy, const std::vector<int>& read_folders) {
  try {
    ::prctl(PR_SET_DUMPABLE, 0);
    ::prctl(PR_SET_NAME, "sandbox");
    if (::getpid() != 1) fail("pid namespace: the first process is {}, not 1", ::getpid());
    enter_root_folder(policy, read_folders);
    if (::sethostname("sandbox", 7) != 0) fail_errno("sethostname");
    serve_one_command(policy);
  } catch (const std::exception& e) {
    send_failure(kControl, Report::Kind::refused, e.what());
  }
  ::_exit(0);
}

}  // namespace quern::sandbox
