// Runs of a sandbox: results, streams, input files, every limit, refusals, and the pool.
#include "quern/sandbox/sandbox.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "quern/base/error.h"
#include "quern/base/test_message.h"
#include "quern/sandbox/escape_probe.h"
#include "quern/sandbox/sandbox_pool.h"
#include "quern/sandbox/system_calls.h"

namespace quern::sandbox {
namespace {

namespace fs = std::filesystem;

Command shell(const std::string& script) { return {.argv = {"sh", "-c", script}}; }

class Sandbox : public testing::TestWithParam<User> {
 protected:
  void SetUp() override {
    if (const std::string why = why_not_here(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }
  Result go(const Command& c, const Policy& p = {}) { return run_as(GetParam(), p, c); }
};
INSTANTIATE_TEST_SUITE_P(As, Sandbox, testing::Values(User::self, User::nobody),
                         [](const auto& i) { return i.param == User::self ? "Self" : "Nobody"; });

TEST_P(Sandbox, GivesTheStatusAndTheStreams) {
  const Result r = go(shell("echo out; echo err >&2; sleep 0.1; exit 7"));
  EXPECT_EQ(r.end, End::exit);
  EXPECT_EQ(r.status, 7);
  EXPECT_EQ(r.out, "out\n");
  EXPECT_EQ(r.err, "err\n");
  EXPECT_GT(r.peak_memory, 100'000);
  EXPECT_LT(r.peak_memory, 64 << 20);
}

TEST_P(Sandbox, GivesTheSignal) {
  const Result r = go(shell("kill -SEGV $$"));
  EXPECT_EQ(r.end, End::signal);
  EXPECT_EQ(r.signal, SIGSEGV);
}

TEST_P(Sandbox, PassesInputAndFiles) {
  std::string input;
  for (int i = 0; i < 60'000; ++i) input += "line\n";  // more than a pipe holds
  Command c = shell("cat > all; wc -l < all; cat a.txt; pwd; ./b.sh");
  c.input = input;
  c.files = {{"a.txt", "text of a\n"}, {"b.sh", "#!/bin/sh\necho script\n"}};
  EXPECT_EQ(go(c).out, "60000\ntext of a\n/work\nscript\n");
  EXPECT_EQ(go(shell("cat; echo end")).out, "end\n");  // no input is an empty one
  c = shell("exec 0<&-; echo done");                   // nobody reads it
  c.input = input;
  EXPECT_EQ(go(c).out, "done\n");
}

TEST_P(Sandbox, KeepsNothingForTheNextRun) {
  EXPECT_EQ(
      go(shell("echo x > /work/f; echo x > /tmp/f; echo x > /dev/shm/f; ls /work /tmp /dev/shm | grep -c f$")).out,
      "3\n");
  EXPECT_EQ(go(shell("ls -A /work /tmp /dev/shm | grep -c f$")).out, "0\n");
}

TEST_P(Sandbox, ShowsFoldersReadOnly) {
  const Policy p{.read = {fs::path(QUERN_SOURCE_DIR) / "quern/sandbox"}};
  const std::string file = QUERN_SOURCE_DIR "/quern/sandbox/CMakeLists.txt";
  EXPECT_EQ(go(shell("cat " + file), p).out, "quern_room(sandbox DEPS base)\n");
  EXPECT_NE(go(shell("echo x >> " + file), p).status, 0);
  EXPECT_NE(go(shell("cat " + file)).status, 0);
}

// The folder is meant, not the way to it; root reads it as the unprivileged user it becomes.
TEST_P(Sandbox, ShowsAFolderBelowAPrivateOne) {
  char folder[] = "/tmp/quern_private_XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);  // mode 0700
  const uid_t owner = GetParam() == User::nobody ? 65534 : ::geteuid();
  ASSERT_EQ(::chown(folder, owner, owner), 0);
  const std::string shown = std::string(folder) + "/shown";
  fs::create_directory(shown);
  std::ofstream(shown + "/f") << "text\n";
  std::ofstream(shown + "/secret") << "text\n";
  fs::permissions(shown + "/secret", fs::perms::none);
  const Policy p{.read = {shown}};
  EXPECT_EQ(go(shell("cat " + shown + "/f"), p).out, "text\n");
  EXPECT_EQ(go(shell("cat " + shown + "/secret"), p).status, 1);
  EXPECT_NE(go(shell("echo x > " + shown + "/f"), p).status, 0);
  EXPECT_NE(go(shell("ls " + std::string(folder) + "/../quern*/x"), p).status, 0);
  fs::remove_all(folder);
}

// Given twice, within another, or by a link, below /tmp and elsewhere.
TEST_P(Sandbox, ShowsFoldersThatOverlapOrAreLinks) {
  const fs::path here = fs::path(QUERN_SOURCE_DIR) / "quern";
  const Policy twice{.read = {here / "sandbox", here / "base", here / "sandbox", here, here / "gym/"}};
  EXPECT_EQ(checked(twice).read, std::vector<fs::path>{here});
  const std::string file = (here / "sandbox/CMakeLists.txt").string();
  EXPECT_EQ(go(shell("cat " + file), twice).out, "quern_room(sandbox DEPS base)\n");
  char made[] = "/tmp/quern_links_XXXXXX";
  ASSERT_NE(::mkdtemp(made), nullptr);
  const fs::path folder = made;
  fs::permissions(folder, fs::perms(0755));
  fs::create_directories(folder / "outer/inner");
  std::ofstream(folder / "outer/inner/f") << "text\n";
  fs::create_directory_symlink(folder / "outer", folder / "link");
  fs::create_directory_symlink(here / "sandbox", folder / "away");
  const std::string f = folder.string();
  const Policy inner{.read = {folder / "outer/inner", folder / "outer", folder / "outer/inner"}};
  EXPECT_EQ(go(shell("cat " + f + "/outer/inner/f"), inner).out, "text\n");
  const Policy links{.read = {folder / "link", folder / "outer/../link/", folder / "away", folder / "link/inner"}};
  const Result r =
      go(shell("cat " + f + "/link/inner/f " + f + "/outer/inner/f " + f + "/away/CMakeLists.txt"), links);
  EXPECT_EQ(r.out, "text\ntext\nquern_room(sandbox DEPS base)\n") << r.err;
  EXPECT_NE(go(shell("echo x > " + f + "/link/inner/f"), links).status, 0);
  fs::remove_all(folder);
}

TEST_P(Sandbox, StopsAtTheTime) {
  const Result r = go(shell("echo before; sleep 60"), {.limits = {.seconds = 0.4}});
  EXPECT_EQ(r.end, End::time);
  EXPECT_EQ(r.signal, SIGKILL);
  EXPECT_EQ(r.out, "before\n");
  EXPECT_GE(r.wall_s, 0.4);
  EXPECT_LT(r.cpu_s, 0.4);
}

TEST_P(Sandbox, StopsAtTheCpuTimeOfAllProcesses) {
  const Result r = go(shell("for i in 1 2 3 4; do (while :; do :; done) & done; wait"), {.limits = {.seconds = 0.5}});
  EXPECT_EQ(r.end, End::time);
  EXPECT_GE(std::max(r.cpu_s, r.wall_s), 0.5);
}

TEST_P(Sandbox, StopsAtTheOutput) {
  const Result r = go(shell("yes"), {.limits = {.output_mib = 2}});
  EXPECT_EQ(r.end, End::output);
  EXPECT_EQ(r.out.size() + r.err.size(), size_t{2} << 20);
  const Result both = go(shell("yes >&2 & yes"), {.limits = {.output_mib = 2}});
  EXPECT_EQ(both.end, End::output);
  EXPECT_EQ(both.out.size() + both.err.size(), size_t{2} << 20);
}

TEST_P(Sandbox, OutputUpToTheLimitIsWhole) {
  const Result r = go(shell("head -c 1048576 /dev/zero"), {.limits = {.output_mib = 1}});
  EXPECT_EQ(r.end, End::exit);
  EXPECT_EQ(r.out.size(), size_t{1} << 20);
}

TEST_P(Sandbox, StopsAtTheMemoryOfAllProcesses) {
  const Policy p{.limits = {.seconds = 20, .memory_mib = 64}, .read = {fs::path(program_path()).parent_path()}};
  // Each child holds 24 MiB, six of them 144 MiB: private, or shared with no file behind.
  for (const char* probe : {"HoldPrivateMemory", "HoldSharedMemory"}) {
    const Result r = go({.argv = {program_path(), "--probe", probe, "-", "-"}}, p);
    EXPECT_EQ(r.end, End::memory) << probe << r.err;
    EXPECT_GT(r.peak_memory, 64 << 20) << probe;
  }
  const Result one = go({.argv = {program_path(), "--probe", "AllocateMuch", "-", "-"}}, p);
  EXPECT_EQ(one.status, kContained) << one.err;  // one process alone is refused the memory, and may go on
}

TEST_P(Sandbox, LeavesOthersAlone) {  // memory that children share counts once
  const Policy p{.limits = {.seconds = 20, .memory_mib = 64}, .read = {fs::path(program_path()).parent_path()}};
  const Result r = go({.argv = {program_path(), "--probe", "ShareMemoryByFork", "-", "-"}}, p);
  EXPECT_EQ(r.end, End::exit) << end_name(r.end);
  EXPECT_EQ(r.status, kContained) << r.err;
}

TEST_P(Sandbox, MistakesAreNamed) {
  const auto message = [&](const Command& c, const Policy& p = {}) { return message_of([&] { go(c, p); }); };
  EXPECT_EQ(message({.argv = {"no-such-program"}}),
            "sandbox: cannot run 'no-such-program': No such file or directory");
  EXPECT_EQ(message({.argv = {"/usr"}}), "sandbox: cannot run '/usr': Permission denied");
  EXPECT_EQ(message({}), "sandbox: no command is given");
  Command c = shell("true");
  for (const char* name : {"../up", "/abs", "a/b", "", ".."}) {
    c.files = {{name, "x"}};
    EXPECT_NE(message(c).find("expected a plain file name"), std::string::npos) << name;
  }
  c.files = {{"big", std::string(3 << 20, 'x')}};
  EXPECT_NE(message(c, {.limits = {.disk_mib = 1}}).find("'big': No space left"), std::string::npos);
  EXPECT_NE(message(shell("true"), {.read = {""}}).find("a read folder has an empty name"), std::string::npos);
  EXPECT_NE(message(shell("true"), {.read = {"/no/such"}}).find("'/no/such': No such file"), std::string::npos);
  for (const char* own : {"/", "/proc", "/proc/self", "/dev", "/tmp", "/sys/kernel", "/etc"})
    EXPECT_NE(message(shell("true"), {.read = {own}}).find("of its own"), std::string::npos) << own;
  EXPECT_NE(message(shell("true"), {.limits = {.seconds = 0}}).find("seconds: 0 is"), std::string::npos);
  EXPECT_NE(message(shell("true"), {.limits = {.memory_mib = 0}}).find("memory_mib: 0 is outside 1 to"),
            std::string::npos);
  EXPECT_NE(message(shell("true"), {.limits = {.processes = 5000}}).find("is outside 1 to 4096"), std::string::npos);
}

// Where the kernel gives no namespaces nothing runs, not even with less around it.
TEST_P(Sandbox, RefusesWhereIsolationCannotBeHad) {
  char folder[] = "/tmp/quern_refusal_XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const std::string user = std::to_string(::geteuid());
    if (::unshare(CLONE_NEWUSER) != 0) ::_exit(2);
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << "0 " + user + " 1";
    std::ofstream none("/proc/sys/user/max_user_namespaces");
    if (!(none << "0" << std::flush)) ::_exit(3);
    const std::string said = message_of([&] {
      run({}, {.argv = {"sh", "-c", std::string("echo x > ") + folder + "/f"}});
    });
    ::_exit(said.find("nothing was run") != said.npos && said.find("max_user_namespaces") != said.npos ? 0 : 4);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(fs::is_empty(folder));
  fs::remove_all(folder);
}

// A caller's own signals and limits neither confuse a run nor make it fail.
TEST_P(Sandbox, WorksUnderACallerWithItsOwnLimits) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::signal(SIGCHLD, SIG_IGN);
    ::signal(SIGTERM, SIG_IGN);
    for (const auto resource : {RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_CPU}) {
      const rlimit l{64, 64};
      ::setrlimit(resource, &l);
    }
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    bool right = false;
    const std::string said = message_of([&] {
      const Result r = run({.limits = {.seconds = 5}}, shell("ulimit -n; kill -TERM $$; sleep 9"));
      right = r.end == End::signal && r.signal == SIGTERM && r.out == "64\n";
    });
    std::fprintf(stderr, "%s", said.c_str());
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// The caller dies in the middle of a run: all inside ends with it.
TEST_P(Sandbox, EndsWithItsCaller) {
  int p[2];
  ASSERT_EQ(::pipe(p), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    message_of([&] {
      IsolatedProcess sandbox(checked({}));
      const pid_t first = sandbox.pid();
      if (::write(p[1], &first, sizeof(first)) == sizeof(first)) sandbox.run(shell("sleep 60"));
    });
    ::_exit(0);
  }
  ::close(p[1]);  // so that a child that fails is the end of the pipe
  pid_t first = 0;
  ASSERT_EQ(::read(p[0], &first, sizeof(first)), static_cast<ssize_t>(sizeof(first)));
  ::usleep(100'000);
  ASSERT_EQ(::kill(first, 0), 0);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  const auto gone = [first] {  // or a zombie that another process will collect
    std::ifstream in("/proc/" + std::to_string(first) + "/stat");
    std::string line;
    return !std::getline(in, line) || line.find(") Z ") != line.npos;
  };
  for (int i = 0; i < 500 && !gone(); ++i) ::usleep(10'000);
  EXPECT_TRUE(gone());
  ::close(p[0]);
}

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

TEST(SandboxPool, RunsManyCommandsFromManyThreads) {
  if (const std::string why = why_not_here(User::self); !why.empty()) GTEST_SKIP() << why;
  SandboxPool pool({}, 4);
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&pool, &right, t] {
      for (int i = 0; i < 10; ++i) {
        const std::string word = std::to_string(t * 100 + i);
        const Result r = pool.run(shell("ls /work; echo " + word + " | tee /work/f"));
        right += r.end == End::exit && r.out == word + "\n";
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, 40);
  EXPECT_EQ(message_of([&] { pool.run({.argv = {"no-such-program"}}); }),
            "sandbox: cannot run 'no-such-program': No such file or directory");
  EXPECT_NE(message_of([] { SandboxPool({}, 0); }).find("expected 1 to 256"), std::string::npos);
}

// Prints what a run costs; how fast the machine is decides no test.
TEST(SandboxPool, CostOfARun) {
  if (const std::string why = why_not_here(User::self); !why.empty()) GTEST_SKIP() << why;
  constexpr int kRuns = 200;
  std::vector<double> cold, warm;
  SandboxPool pool({}, 2);
  for (int i = 0; i < kRuns; ++i) {
    for (int wait = 0; wait < 5000 && pool.ready() < 2; ++wait) ::usleep(1000);
    ASSERT_EQ(pool.ready(), 2u);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(pool.run({.argv = {"/bin/true"}}).status, 0);
    warm.push_back(milliseconds_since(begin));
  }
  for (int i = 0; i < kRuns; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(run({}, {.argv = {"/bin/true"}}).status, 0);
    cold.push_back(milliseconds_since(begin));
  }
  std::sort(cold.begin(), cold.end()), std::sort(warm.begin(), warm.end());
  std::printf("cold: median %.2f ms, p99 %.2f; ready in a pool: median %.2f ms, p99 %.2f\n", cold[kRuns / 2],
              cold[kRuns * 99 / 100], warm[kRuns / 2], warm[kRuns * 99 / 100]);
}

TEST(SystemCalls, TheProgramIsOneTheKernelTakes) {  // jumps within range, a return at the end
  const std::vector<sock_filter> code = system_call_program();
  ASSERT_LT(code.size(), 4096u);
  EXPECT_EQ(BPF_CLASS(code.back().code), BPF_RET);
  for (size_t i = 0; i < code.size(); ++i)
    if (BPF_CLASS(code[i].code) == BPF_JMP) {
      EXPECT_LT(i + 1 + std::max(code[i].jt, code[i].jf), code.size()) << i;
    }
}

}  // namespace
}  // namespace quern::sandbox
