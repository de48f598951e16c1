#include "quern/sandbox/isolated_process.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "quern/base/error.h"
#include "quern/sandbox/channel.h"
#include "quern/sandbox/exchange.h"
#include "quern/sandbox/first_process.h"
#include "quern/sandbox/root_folder.h"

namespace quern::sandbox {
namespace {

constexpr uid_t kNobody = 65534, kInside = 1000;
constexpr int kReadyWithinMs = 30'000;

struct Ends {
  Descriptor near, far;
};

Ends make_pipe() {
  int p[2];
  if (::pipe2(p, O_CLOEXEC) != 0) fail_errno("sandbox: pipe");
  return {Descriptor(p[0]), Descriptor(p[1])};
}

void write_own(const char* file, const std::string& text) {
  const int fd = ::open(file, O_WRONLY | O_CLOEXEC);
  if (fd < 0) fail_errno(fmt::format("open {}", file));
  const ssize_t n = ::write(fd, text.data(), text.size());
  if (n < 0) fail_errno(fmt::format("write {}", file));
  ::close(fd);
}

// Root becomes an unprivileged user for good. EINVAL: the "root" of a user namespace that has no such user; outside it
// is an unprivileged user already.
void leave_root() {
  if (::geteuid() != 0) return;
  if (::setresgid(kNobody, kNobody, kNobody) != 0) {
    if (errno == EINVAL) return;
    fail_errno("become an unprivileged group");
  }
  if (::setgroups(0, nullptr) != 0 && errno != EPERM) fail_errno("drop groups");
  if (::setresuid(kNobody, kNobody, kNobody) != 0) fail_errno("become an unprivileged user");
  ::prctl(PR_SET_DUMPABLE, 1);  // else the user could not write its own uid_map
}

void enter_namespaces() {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  constexpr int kNamespaces =
      CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
  if (::unshare(kNamespaces) != 0) {
    const int e = errno;
    fail(
        "new namespaces: {}; unprivileged user namespaces must be permitted (sysctl user.max_user_namespaces, "
        "kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns; in a container also its "
        "system call filter)",
        std::strerror(e));
  }
  write_own("/proc/self/setgroups", "deny");
  write_own("/proc/self/uid_map", fmt::format("{} {} 1", kInside, user));
  write_own("/proc/self/gid_map", fmt::format("{} {} 1", kInside, group));
  if (::setresgid(kInside, kInside, kInside) != 0 || ::setresuid(kInside, kInside, kInside) != 0)
    fail_errno("become the user inside");
}

// In the fork of the caller: descriptors 0 to 3 and no other.
void place_descriptors(const int (&from)[4]) {
  int high[4];
  for (int i = 0; i < 4; ++i)
    if ((high[i] = ::fcntl(from[i], F_DUPFD_CLOEXEC, 16)) < 0) fail_errno("descriptor");
  for (int i = 0; i < 4; ++i)
    if (::dup3(high[i], i, i == kControl ? O_CLOEXEC : 0) < 0) fail_errno("descriptor");
  if (::syscall(SYS_close_range, 4u, ~0u, 0u) != 0) fail_errno("close descriptors (close_range, Linux 5.9)");
}

// Ends when the first process, which becomes a child of the caller, is there.
[[noreturn]] void launch(const Policy& policy, const int (&descriptors)[4]) {
  try {
    for (int s : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(s, SIG_IGN);  // the caller decides
    ::signal(SIGCHLD, SIG_DFL);  // where the caller ignores it, the end of the command would not be seen
    place_descriptors(descriptors);
    ::setsid();
    const std::vector<int> read_folders = open_read_folders(policy);
    leave_root();
    write_own("/proc/self/oom_score_adj", "1000");  // the first that the kernel ends when memory runs out
    enter_namespaces();
    const long pid = ::syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, 0);
    if (pid < 0) fail_errno("clone");
    if (pid == 0) run_first_process(policy, read_folders);
    send_report(kControl, {.kind = Report::Kind::pid, .value = static_cast<int32_t>(pid)});
  } catch (const std::exception& e) {
    send_failure(kControl, Report::Kind::refused, e.what());
  }
  ::_exit(0);
}

void wait_for(pid_t pid) {
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

[[noreturn]] void refuse(const std::string& why) {
  fail("sandbox: this system does not permit isolation, and nothing was run: {}", why);
}

}  // namespace

void Descriptor::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

IsolatedProcess::IsolatedProcess(const Policy& policy) : policy_(policy) {
  try {
    start();
    wait_until_ready();
  } catch (...) {
    end();
    throw;
  }
}

IsolatedProcess::~IsolatedProcess() { end(); }

void IsolatedProcess::start() {
  Ends in = make_pipe(), out = make_pipe(), err = make_pipe();
  int c[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, c) != 0) fail_errno("sandbox: socketpair");
  control_ = Descriptor(c[0]);
  const Descriptor inside(c[1]);
  const int descriptors[4] = {in.near.get(), out.far.get(), err.far.get(), inside.get()};
  const pid_t launcher = ::fork();
  if (launcher < 0) fail_errno("sandbox: fork");
  if (launcher == 0) launch(policy_, descriptors);
  wait_for(launcher);
  input_ = std::move(in.far), output_ = std::move(out.near), errors_ = std::move(err.near);
}

void IsolatedProcess::wait_until_ready() {
  for (bool ready = false; !ready;) {
    const auto r = receive_report(control_.get(), kReadyWithinMs);
    if (!r) refuse("the first process ended without a word");
    if (r->kind == Report::Kind::refused) {
      if (const auto told = receive_report(control_.get(), 0); told && told->kind == Report::Kind::pid)
        pid_ = told->value;
      refuse(r->text);
    }
    if (r->kind == Report::Kind::pid) pid_ = r->value;
    ready = r->kind == Report::Kind::ready;
    if (ready && pid_ < 0) {  // it was faster than the process that tells its number
      const auto told = receive_report(control_.get(), kReadyWithinMs);
      if (!told || told->kind != Report::Kind::pid) refuse("the first process was not announced");
      pid_ = told->value;
    }
  }
}

void IsolatedProcess::end() {
  control_.reset();  // the first process leaves by itself, and with it all others; the signal is for when it hangs
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    wait_for(pid_);
  }
  pid_ = -1;
}

Result IsolatedProcess::run(const Command& command) {
  QUERN_CHECK(pid_ > 0 && input_.get() >= 0, "a sandbox runs one command");
  if (command.argv.empty()) fail("sandbox: no command is given");
  const auto begin = std::chrono::steady_clock::now();
  send_command(control_.get(), command);
  Exchange exchange({control_.get(), input_.release(), output_.get(), errors_.get()}, policy_.limits, command);
  Result r = exchange.finish();
  r.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return r;
}

}  // namespace quern::sandbox
