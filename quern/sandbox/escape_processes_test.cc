// Escape attempts through processes, privileges, descriptors and sockets.
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "quern/sandbox/escape_probe.h"

extern char** environ;

namespace quern::sandbox {
namespace {

int inherited_descriptors() {
  for (int fd = 3; fd < 20'000; ++fd)
    if (::fcntl(fd, F_GETFD) != -1) return escaped("descriptor " + std::to_string(fd) + " is open");
  return kContained;
}

int input_is_no_terminal() { return ::isatty(0) || ::isatty(1) || ::isatty(2) ? escaped("a terminal") : kContained; }

int environment() {
  for (char** e = environ; *e; ++e) {
    const std::string word = *e;
    if (!word.starts_with("PATH=") && !word.starts_with("HOME=/work") && !word.starts_with("LANG="))
      return escaped(word);
  }
  return kContained;
}

// The value of a line of /proc/self/status.
std::string status_of(const std::string& field) {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(field + ":\t")) return line.substr(field.size() + 2);
  return "missing";
}

int capabilities() {
  for (const char* field : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"})
    if (status_of(field) != "0000000000000000") return escaped(field);
  return kContained;
}

int no_new_privileges() {
  return status_of("NoNewPrivs") == "1" && status_of("Seccomp") == "2" ? kContained : escaped(status_of("Seccomp"));
}

int become_root() {
  if (::setuid(0) == 0 || ::setresuid(0, 0, 0) == 0 || ::setgid(0) == 0) return escaped("user 0");
  return ::getuid() != 0 && ::geteuid() != 0 ? kContained : escaped("is user 0");
}

int own_session() { return ::getsid(0) == ::getpid() ? kContained : escaped("the session of the host"); }

// Numbers of the host mean nothing inside; those inside are 1, which ignores signals, and this one.
int signal_others() {
  for (int pid = 2; pid < 100'000; ++pid)
    if (pid != ::getpid() && ::kill(pid, 0) == 0) return escaped("sees process " + std::to_string(pid));
  for (const int s : {SIGKILL, SIGSTOP, SIGTERM, SIGSEGV}) ::kill(1, s);
  ::usleep(50'000);
  return ::kill(1, 0) == 0 || errno == EPERM ? kContained : escaped("the first process is gone");
}

int parent_is_hidden() { return ::getppid() <= 1 ? kContained : escaped(std::to_string(::getppid())); }

// Orphans in sessions of their own that ignore signals and hold the output open. The host looks whether they stay.
int orphans() {
  for (int i = 0; i < 3; ++i)
    if (::fork() == 0) {
      ::setsid();
      for (int s = 1; s < 32; ++s) ::signal(s, SIG_IGN);
      if (::fork() != 0) ::_exit(0);
      while (true) ::sleep(100);
    }
  return kContained;
}

int fork_many() {
  int made = 0;
  for (int i = 0; i < 200; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      while (true) ::sleep(100);
    }
    made += pid > 0;
  }
  return made <= 16 ? kContained : escaped(std::to_string(made) + " processes");
}

int many_threads() {
  int made = 0;
  try {
    for (int i = 0; i < 200; ++i, ++made) std::thread([] { ::sleep(100); }).detach();
  } catch (const std::system_error&) {
  }
  return made <= 16 ? kContained : escaped(std::to_string(made) + " threads");
}

int fork_from_children() {  // each makes more, none waits
  for (int round = 0; round < 12; ++round) ::fork();
  ::usleep(20'000);
  return kContained;
}

int raise_limits() {
  for (const auto resource : {RLIMIT_NPROC, RLIMIT_DATA, RLIMIT_CPU, RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_CORE}) {
    rlimit l{RLIM_INFINITY, RLIM_INFINITY};
    if (::setrlimit(resource, &l) == 0) return escaped("limit " + std::to_string(resource));
  }
  return kContained;
}

int raise_priority() {
  errno = 0;
  return ::setpriority(PRIO_PROCESS, 0, -20) == 0 ? escaped("priority") : kContained;
}

int core_dump() {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_DUMPABLE, 1);
    ::raise(SIGSEGV);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFSIGNALED(status) && !WCOREDUMP(status) ? kContained : escaped("a core dump");
}

int allocate_much() {
  void* p =
      ::mmap(nullptr, size_t{2} << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? kContained : escaped("2 GiB");
}

// Six children with 24 MiB each, for as long as the sandbox lets them.
int hold_memory(int flags) {
  constexpr size_t kSize = 24 << 20;
  for (int i = 0; i < 6; ++i)
    if (::fork() == 0) {
      void* p = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
      if (p != MAP_FAILED) std::memset(p, 1, kSize);
      ::sleep(100);
    }
  ::sleep(10);
  return escaped("144 MiB");
}

int share_memory_by_fork() {
  const std::string held(24 << 20, 'x');
  for (int i = 0; i < 6; ++i)
    if (::fork() == 0) {
      ::usleep(200'000);
      ::_exit(held[held.size() / 2] == 'x' ? 0 : 1);
    }
  while (::wait(nullptr) > 0) {
  }
  return kContained;
}

int lock_memory() {
  static char page[4096];
  return failed(::mlock(page, sizeof(page)));
}

int connect_to(const std::string& path) {
  const int s = ::socket(AF_UNIX, SOCK_STREAM, 0);
  if (s < 0) return escaped("no local socket");  // the refusal would be of something else
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  std::memcpy(a.sun_path, path.data(), path.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  return failed(::connect(s, reinterpret_cast<sockaddr*>(&a), size));
}

int abstract_socket() {
  std::string name = host_files().hidden;
  name.insert(0, 1, '\0');
  return connect_to(name);
}

int send_to_socket_file() {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0) return escaped("no pair");
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  const std::string path = host_files().shown + "/socket";
  std::memcpy(a.sun_path, path.data(), path.size());
  ::sendto(pair[0], "x", 1, 0, reinterpret_cast<sockaddr*>(&a), sizeof(a));
  return kContained;  // the host looks whether something came
}

int network_devices() {
  std::ifstream in("/proc/self/net/dev");
  for (std::string line; std::getline(in, line);)
    if (line.find(':') != line.npos && line.find("lo:") == line.npos) return escaped(line);
  std::ifstream routes("/proc/self/net/route");
  std::string heading, route;
  std::getline(routes, heading);
  return std::getline(routes, route) ? escaped(route) : kContained;
}

int host_name() {
  char name[64] = {};
  ::gethostname(name, sizeof(name));
  return std::string(name) == "sandbox" ? kContained : escaped(name);
}

// Writing would block until a reader is there, so without waiting; the host reads at the other end.
int pipe_of_host() {
  const int fd = ::open((host_files().shown + "/pipe").c_str(), O_WRONLY | O_NONBLOCK);
  if (fd < 0) return kContained;
  return ::write(fd, "x", 1) == 1 ? escaped("wrote into a pipe of the host") : kContained;
}

int sandbox_inside() {
  try {
    run({}, {.argv = {"/bin/true"}});
  } catch (const std::exception& e) {
    return std::strstr(e.what(), "nothing was run") ? kContained : escaped(e.what());
  }
  return escaped("a sandbox in the sandbox");
}

int cgroup_files() {
  struct stat s;
  return ::stat("/sys/fs/cgroup", &s) != 0 ? kContained : escaped("/sys/fs/cgroup");
}

int set_user_file() {
  const int fd = ::open("/work/program", O_WRONLY | O_CREAT, 0755);
  if (fd < 0 || ::fchmod(fd, 04755) != 0) return kContained;
  struct stat s;
  return ::fstat(fd, &s) == 0 && s.st_uid != 0 ? kContained : escaped("a program of user 0");
}

constexpr Probe kProbes[] = {
    {"InheritedDescriptors", inherited_descriptors},
    {"TerminalDescriptors", input_is_no_terminal},
    {"Environment", environment},
    {"Capabilities", capabilities},
    {"NoNewPrivileges", no_new_privileges},
    {"BecomeRoot", become_root},
    {"SetUserFile", set_user_file},
    {"Session", own_session},
    {"SignalOthers", signal_others},
    {"ParentIsHidden", parent_is_hidden},
    {"Orphans", orphans},
    {"ForkMany", fork_many},
    {"ForkFromChildren", fork_from_children},
    {"ManyThreads", many_threads},
    {"RaiseLimits", raise_limits},
    {"RaisePriority", raise_priority},
    {"CoreDump", core_dump},
    {"AllocateMuch", allocate_much},
    {"LockMemory", lock_memory},
    {"SocketFileOfHost", [] { return connect_to(host_files().shown + "/socket"); }},
    {"SocketFileOfHostByPacket", send_to_socket_file},
    {"AbstractSocketOfHost", abstract_socket},
    {"NetworkDevices", network_devices},
    {"HostName", host_name},
    {"PipeOfHost", pipe_of_host},
    {"SandboxInside", sandbox_inside},
    {"CgroupFiles", cgroup_files},
};

constexpr Probe kMemoryProbes[] = {
    {"HoldPrivateMemory", [] { return hold_memory(MAP_PRIVATE); }},
    {"HoldSharedMemory", [] { return hold_memory(MAP_SHARED); }},
    {"ShareMemoryByFork", share_memory_by_fork},
};

}  // namespace

std::span<const Probe> process_probes() { return kProbes; }
std::span<const Probe> memory_probes() { return kMemoryProbes; }

}  // namespace quern::sandbox
