#include "tests/docs/shell_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "quern/base/error.h"

namespace quern::docs {
namespace {

using Clock = std::chrono::steady_clock;

// Kills what the page started: its process group, and what left that and came to this process when its parent ended.
void end_all(pid_t group) {
  ::kill(-group, SIGTERM);
  const auto patience = Clock::now() + std::chrono::seconds(2);
  while (::kill(-group, 0) == 0 && Clock::now() < patience) {
    ::waitpid(-group, nullptr, WNOHANG);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ::kill(-group, SIGKILL);
  const std::filesystem::path children = fmt::format("/proc/self/task/{}/children", ::getpid());
  for (int i = 0; i < 100; ++i) {
    std::ifstream list(children);
    bool any = false;
    for (pid_t pid = 0; list >> pid; any = true) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
    if (!any) return;
  }
}

}  // namespace

std::optional<int> run_script(const ScriptRun& run) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t pid = ::fork();
  if (pid < 0) fail("fork failed");
  if (pid == 0) {
    ::setpgid(0, 0);
    const int in = ::open("/dev/null", O_RDONLY);
    const int log = ::open(run.log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    ::dup2(in, 0), ::dup2(log, 1), ::dup2(log, 2);
    const std::string path = fmt::format("{}/apps/quern:{}", QUERN_BINARY_DIR, std::getenv("PATH"));
    ::setenv("PATH", path.c_str(), 1);
    ::setenv("HOME", run.home.c_str(), 1);
    ::setenv("LC_ALL", "C.UTF-8", 1);
    ::setenv("TZ", "UTC", 1);
    ::setenv("no_proxy", "127.0.0.1,localhost", 1);
    // More ranks than cores: Open MPI 4 and 5 have a name each.
    for (const char* name :
         {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe"})
      ::setenv(name, "1", 1);
    ::setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 1);
    ::execlp("bash", "bash", run.script.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::setpgid(pid, pid);
  const auto limit = Clock::now() + std::chrono::duration<double>(run.seconds);
  std::optional<int> code;
  while (!code && Clock::now() < limit) {
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG) == pid)
      code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    else
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  end_all(pid);
  return code;
}

}  // namespace quern::docs
