// Every escape attempt, as the user who runs the tests and, for root, as an unprivileged user too. After each the host
// is looked at: its files, its socket and pipe, its name, and that no process is left.
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/sandbox/escape_probe.h"
#include "quern/sandbox/landlock.h"

namespace quern::sandbox {

namespace fs = std::filesystem;

HostFiles& host_files() {
  static HostFiles files;
  return files;
}

int escaped(const std::string& how) {
  std::fprintf(stderr, "%s\n", how.c_str());
  return kEscaped;
}

std::string program_path() { return fs::read_symlink("/proc/self/exe").string(); }

namespace {

void become_nobody() {
  if (::setgroups(0, nullptr) != 0 || ::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0)
    ::_exit(99);
  ::prctl(PR_SET_DUMPABLE, 1);
}

// What `f` prints into a string, in a forked process of the user.
std::string in_fork(User user, const std::function<std::string()>& f) {
  int p[2];
  if (::pipe(p) != 0) fail("pipe");
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(p[0]);
    if (user == User::nobody) become_nobody();
    std::string text;
    try {
      text = f();
    } catch (const std::exception& e) {
      text = std::string("!") + e.what();
    }
    for (size_t at = 0; at < text.size();) {
      const ssize_t n = ::write(p[1], text.data() + at, text.size() - at);
      if (n <= 0) ::_exit(98);
      at += static_cast<size_t>(n);
    }
    ::_exit(0);
  }
  ::close(p[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(p[0], buffer, sizeof(buffer))) > 0;) text.append(buffer, static_cast<size_t>(n));
  ::close(p[0]);
  ::waitpid(pid, nullptr, 0);
  return text;
}

int run_probe(const std::string& name) {
  for (const auto& probes : {file_probes(), system_call_probes(), process_probes(), memory_probes()})
    for (const Probe& p : probes)
      if (p.name == name) return p.attempt();
  return escaped("no probe has this name");
}

// Empty where the file cannot be read to its end: a process's files go while they are read.
std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  return text << in.rdbuf() ? text.str() : "";
}

bool has_word(const std::string& command_line, const std::string& word) {
  return command_line.find(word) != command_line.npos;
}

int processes_with(const std::string& word) {
  int n = 0;
  for (const auto& e : fs::directory_iterator("/proc"))
    if (std::isdigit(static_cast<unsigned char>(e.path().filename().string()[0])))
      n += has_word(contents(e.path() / "cmdline"), word);
  return n;
}

// What an escape would change or use.
class Host {
 public:
  Host() {
    char folder[] = "/tmp/quern_sandbox_XXXXXX";
    root_ = ::mkdtemp(folder);
    ::chmod(folder, 0755);
    host_files() = {root_ + "/shown", root_ + "/hidden.txt"};
    fs::create_directory(shown());
    ::chmod(shown().c_str(), 0777);
    write(shown() + "/open.txt", "as before"), write(host_files().hidden, "secret");
    fs::create_symlink(host_files().hidden, shown() + "/link");
    ::mkfifo((shown() + "/pipe").c_str(), 0666);
    ::chmod((shown() + "/pipe").c_str(), 0666);
    pipe_ = ::open((shown() + "/pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    socket_ = listen_at(shown() + "/socket");
    ::chmod((shown() + "/socket").c_str(), 0777);
    abstract_ = listen_at(std::string(1, '\0') + host_files().hidden);
    ::setenv("QUERN_SECRET", "secret", 1);
    const int hidden = ::open(host_files().hidden.c_str(), O_RDONLY);
    ::dup2(hidden, 77);  // a descriptor that is not closed on exec
    ::close(hidden);
  }
  ~Host() {
    for (const int fd : {pipe_, socket_, abstract_, 77}) ::close(fd);
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  const std::string& shown() const { return host_files().shown; }

  void expect_unchanged() const {
    EXPECT_EQ(contents(shown() + "/open.txt"), "as before");
    EXPECT_EQ(contents(host_files().hidden), "secret");
    struct stat s;
    ASSERT_EQ(::stat((shown() + "/open.txt").c_str(), &s), 0);
    EXPECT_EQ(s.st_mode & 07777, 0666u);
    EXPECT_EQ(std::distance(fs::directory_iterator(shown()), {}), 4);
    char byte;
    EXPECT_LE(::read(pipe_, &byte, 1), 0) << "something wrote into the pipe";
    for (const int s : {socket_, abstract_}) EXPECT_EQ(::accept(s, nullptr, nullptr), -1) << "something connected";
    char name[65] = {};
    ::gethostname(name, 64);
    EXPECT_EQ(name, host_name_);
    for (const char* path : {"/usr", "/etc", "", "/dev", "/lib", "/dev/shm"})
      EXPECT_FALSE(fs::exists(std::string(path) + "/quern-escape")) << path;
    ASSERT_EQ(::stat("/dev/null", &s), 0);
    EXPECT_EQ(s.st_mode & 07777, 0666u);
  }

 private:
  static void write(const std::string& path, const char* text) {
    std::ofstream(path) << text;
    ::chmod(path.c_str(), 0666);
  }
  static int listen_at(const std::string& path) {
    const int s = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    std::memcpy(a.sun_path, path.data(), path.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
    EXPECT_EQ(::bind(s, reinterpret_cast<sockaddr*>(&a), size), 0);
    EXPECT_EQ(::listen(s, 8), 0);
    return s;
  }
  static std::string name_now() {
    char name[65] = {};
    ::gethostname(name, 64);
    return name;
  }
  std::string root_, host_name_ = name_now();
  int pipe_ = -1, socket_ = -1, abstract_ = -1;
};

}  // namespace

Result run_as(User user, const Policy& policy, const Command& command) {
  const std::string text = in_fork(user, [&] {
    const Result r = run(policy, command);
    Json j = Json::array();
    j.push(static_cast<int>(r.end)), j.push(r.status), j.push(r.signal), j.push(r.out), j.push(r.err);
    j.push(r.wall_s), j.push(r.cpu_s), j.push(r.peak_memory);
    return j.dump();
  });
  if (text.starts_with("!")) throw Error(text.substr(1));
  const Json parsed = Json::parse(text);
  const Json::Array& a = parsed.as_array();
  return {.end = static_cast<End>(a[0].as_int()),
          .status = static_cast<int>(a[1].as_int()),
          .signal = static_cast<int>(a[2].as_int()),
          .out = a[3].as_string(),
          .err = a[4].as_string(),
          .wall_s = a[5].as_double(),
          .cpu_s = a[6].as_double(),
          .peak_memory = a[7].as_int()};
}

std::string why_not_here(User user) {
#ifdef __SANITIZE_ADDRESS__
  return "AddressSanitizer needs more address space than a sandbox has";
#endif
  if (user == User::nobody && ::geteuid() != 0) return "the tests run as an unprivileged user already";
  static std::string reasons[2], known[2];
  const auto i = static_cast<size_t>(user);
  if (!known[i].empty()) return reasons[i];
  known[i] = "yes";
  const std::string permitted =
      in_fork(user, [] { return ::unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0 ? "yes" : "no"; });
  if (permitted != "yes") return reasons[i] = "user namespaces are not permitted here";
  return reasons[i];
}

namespace {

struct Attempt {
  Probe probe;
  User user;
};

std::vector<Attempt> all_attempts() {
  std::vector<Attempt> all;
  for (const User user : {User::self, User::nobody})
    for (const auto& probes : {file_probes(), system_call_probes(), process_probes()})
      for (const Probe& p : probes) all.push_back({p, user});
  return all;
}

std::string name_of(const testing::TestParamInfo<Attempt>& i) {
  return std::string(i.param.probe.name) + (i.param.user == User::self ? "" : "AsNobody");
}

class Escape : public testing::TestWithParam<Attempt> {};

TEST_P(Escape, IsContained) {
  const auto& [probe, user] = GetParam();
  if (const std::string why = why_not_here(user); !why.empty()) GTEST_SKIP() << why;
  if (std::string(probe.name) == "PipeOfHost" && landlock_version() == 0) GTEST_SKIP() << "no Landlock here";
  const Host host;
  const std::string mark = "--quern-mark-" + std::to_string(::getpid()) + "-" + probe.name;
  const Policy policy{.limits = {.seconds = 20, .memory_mib = 256, .processes = 16, .output_mib = 1, .disk_mib = 16},
                      .read = {fs::path(program_path()).parent_path(), host.shown()}};
  const Result r = run_as(user, policy,
                          {.argv = {program_path(), "--probe", probe.name, host.shown(), host_files().hidden, mark}});
  EXPECT_EQ(r.end, End::exit) << end_name(r.end) << " " << r.signal;
  EXPECT_EQ(r.status, kContained) << r.out << r.err;
  host.expect_unchanged();
  EXPECT_EQ(processes_with(mark), 0);
}

INSTANTIATE_TEST_SUITE_P(Sandbox, Escape, testing::ValuesIn(all_attempts()), name_of);

bool is_administrator() {
  const std::string status = contents("/proc/self/status");
  constexpr int kSysAdmin = 21;
  return (std::stoull(status.substr(status.find("CapEff:") + 7), nullptr, 16) >> kSysAdmin & 1) != 0;
}

TEST(EscapeProbes, AreMany) { EXPECT_GE(all_attempts().size(), 2u * 150u); }

// Outside, attempts by system calls must be seen to reach the kernel, or the tests above show nothing. As root: an
// unprivileged user is refused much of it anyway.
TEST(EscapeProbes, SeeThatAFilterIsMissing) {
  if (!is_administrator()) GTEST_SKIP() << "needs root with its capabilities";
  int seen = 0, all = 0;
  std::string missed;
  for (const Probe& p : system_call_probes()) {
    const std::string code = in_fork(User::self, [&p] {
      ::close(2);
      return std::to_string(p.attempt());
    });
    ++all;
    if (code != std::to_string(kContained))
      ++seen;
    else
      missed += std::string(" ") + p.name;
  }
  EXPECT_GE(seen, all * 3 / 4) << "look the same without a filter:" << missed;
  std::printf("%d of %d attempts differ outside; not:%s\n", seen, all, missed.c_str());
}

}  // namespace
}  // namespace quern::sandbox

int main(int argc, char** argv) {
  using namespace quern::sandbox;
  if (argc >= 5 && std::string(argv[1]) == "--probe") {
    host_files() = {argv[3], argv[4]};
    return run_probe(argv[2]);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
