#include "quern/sandbox/untrusted_process.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <string_view>

#include "quern/base/error.h"
#include "quern/sandbox/channel.h"
#include "quern/sandbox/landlock.h"
#include "quern/sandbox/system_calls.h"

namespace quern::sandbox {
namespace {

void set_limit(int resource, int64_t value) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) fail_errno("getrlimit");
  limit.rlim_max = std::min(limit.rlim_max, static_cast<rlim_t>(value));  // the caller may have less
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0)
    fail_errno(fmt::format("resource limit {} = {}", resource, value));
}

void set_limits(const Limits& l) {
  const int64_t memory = l.memory_mib << 20;
  set_limit(RLIMIT_CORE, 0);
  set_limit(RLIMIT_CPU, static_cast<int64_t>(std::ceil(l.seconds)));
  set_limit(RLIMIT_DATA, memory);
  set_limit(RLIMIT_AS, memory + (int64_t{4} << 30));  // libraries, and ranges that are reserved but not used
  set_limit(RLIMIT_STACK, std::min<int64_t>(memory, 8 << 20));
  set_limit(RLIMIT_NPROC, l.processes + 1);  // and the first process, which has the same user
  set_limit(RLIMIT_FSIZE, l.disk_mib << 20);
  set_limit(RLIMIT_NOFILE, 256);
  set_limit(RLIMIT_MEMLOCK, 0);
  set_limit(RLIMIT_MSGQUEUE, 0);
  set_limit(RLIMIT_SIGPENDING, 256);
  set_limit(RLIMIT_NICE, 0);
  set_limit(RLIMIT_RTPRIO, 0);
}

void drop_capabilities() {
  const int locked = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                     SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  if (::prctl(PR_SET_SECUREBITS, locked) != 0) fail_errno("secure bits");
  for (int c = 0; ::prctl(PR_CAPBSET_READ, c) >= 0; ++c)
    if (::prctl(PR_CAPBSET_DROP, c) != 0) fail_errno(fmt::format("drop capability {}", c));
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  if (::syscall(SYS_capset, &header, none) != 0) fail_errno("drop capabilities");
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail_errno("no_new_privs");
}

void reset_signals() {
  for (int s = 1; s < 65; ++s)
    if (s != SIGKILL && s != SIGSTOP && s != 32 && s != 33) ::signal(s, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void write_whole(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<size_t>(n));
  }
}

std::string read_until_closed(int fd) {
  std::string all;
  char text[4096];
  for (ssize_t n = 0; (n = ::read(fd, text, sizeof(text))) != 0;) {
    if (n > 0) all.append(text, static_cast<size_t>(n));
    if (n < 0 && errno != EINTR) break;
  }
  return all;
}

// In the new process: descriptors 0 to 2, 4 to tell what went wrong, 5 to read the words of the command.
constexpr int kTell = 4, kWords = 5;

void keep_descriptors(int tell, int words) {
  const int high_tell = ::fcntl(tell, F_DUPFD_CLOEXEC, 16), high_words = ::fcntl(words, F_DUPFD_CLOEXEC, 16);
  if (::dup3(high_tell, kTell, O_CLOEXEC) < 0 || ::dup3(high_words, kWords, O_CLOEXEC) < 0) fail_errno("descriptors");
  ::close(3);
  if (::syscall(SYS_close_range, 6u, ~0u, 0u) != 0) fail_errno("close descriptors (close_range, Linux 5.9)");
}

void execute_words(std::string blob) {
  std::vector<char*> words;
  for (size_t at = 0; at < blob.size(); at = blob.find('\0', at) + 1) words.push_back(blob.data() + at);
  if (words.empty()) ::_exit(0);  // the sandbox is not needed any more
  words.push_back(nullptr);
  char path[] = "PATH=/usr/local/bin:/usr/bin:/bin", home[] = "HOME=/work", lang[] = "LANG=C.UTF-8";
  char* environment[] = {path, home, lang, nullptr};
  ::execvpe(words[0], words.data(), environment);
  const int e = errno;
  throw CommandError(fmt::format("cannot run '{}': {}", words[0], std::strerror(e)), e);
}

// First byte on that pipe where no wall is missing; a problem before that begins with another one, a zero.
constexpr char kReady = 'r';

void tell_problem(int tell, int32_t reason, const char* text) {
  write_whole(tell, {reinterpret_cast<const char*>(&reason), sizeof(reason)});
  write_whole(tell, text);
}

// On the other side: what tell_problem() wrote.
[[noreturn]] void refuse_problem(const std::string& problem) {
  int32_t reason = 0;
  if (problem.size() <= sizeof(reason)) fail("the process that was to become the command ended");
  std::memcpy(&reason, problem.data(), sizeof(reason));
  const std::string text = problem.substr(sizeof(reason));
  if (reason != 0) throw CommandError(text, reason);
  throw Error(text);
}

[[noreturn]] void become_untrusted(const Limits& limits, int tell, int words) {
  try {
    keep_descriptors(tell, words);
    tell = kTell;
    if (::setsid() < 0) fail_errno("setsid");
    reset_signals();
    ::umask(022);
    ::setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 1);  // by which execvpe looks
    set_limits(limits);
    drop_capabilities();
    restrict_files();
    filter_system_calls();
    write_whole(kTell, {&kReady, 1});
    execute_words(read_until_closed(kWords));
  } catch (const CommandError& e) {
    tell_problem(tell, e.reason, e.what());
  } catch (const std::exception& e) {
    tell_problem(tell, 0, e.what());
  }
  ::_exit(127);
}

}  // namespace

UntrustedProcess::UntrustedProcess(const Limits& limits) {
  int tell[2], words[2];
  if (::pipe2(tell, O_CLOEXEC) != 0 || ::pipe2(words, O_CLOEXEC) != 0) fail_errno("pipe");
  pid_ = ::fork();
  if (pid_ < 0) fail_errno("fork");
  if (pid_ == 0) become_untrusted(limits, tell[1], words[0]);
  ::close(tell[1]), ::close(words[0]);
  problem_ = tell[0], words_ = words[1];
  char said = 0;
  ssize_t n;
  while ((n = ::read(problem_, &said, 1)) < 0 && errno == EINTR) {
  }
  if (n == 1 && said == kReady) return;
  refuse_problem((n == 1 ? std::string(1, said) : "") + read_until_closed(problem_));
}

void UntrustedProcess::execute(const std::vector<std::string>& argv) {
  for (const std::string& w : argv) {
    if (w.find('\0') != w.npos) fail("a word of the command holds a zero byte");
    write_whole(words_, {w.c_str(), w.size() + 1});
  }
  ::close(words_);
  const std::string problem = read_until_closed(problem_);
  ::close(problem_);
  if (!problem.empty()) refuse_problem(problem);
}

}  // namespace quern::sandbox
