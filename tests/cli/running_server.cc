#include "tests/cli/running_server.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace quern {
namespace {

std::string contents(const std::string& file) {
  std::ifstream f(file);
  std::stringstream s;
  s << f.rdbuf();
  return s.str();
}

}  // namespace

RunningServer::RunningServer(const ScratchFolder& folder, const std::string& arguments, const std::string& before)
    : out_(folder / "serve.out"), err_(folder / "serve.err") {
  std::filesystem::remove(out_);  // of a server before this one, whose port would be read
  const Ran r =
      shell(fmt::format("{} quern serve {} --port 0 --quiet > {} 2> {} & echo $!", before, arguments, out_, err_));
  pid_ = std::stoi(r.out);
  for (int i = 0; i < 600 && port_ == 0 && alive(); ++i) {
    const std::string out = contents(out_);
    if (const size_t at = out.find("127.0.0.1:"); at != out.npos && out.ends_with('\n'))
      port_ = std::stoi(out.substr(at + 10));
    else
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

bool RunningServer::alive() const {  // one that ended may wait for somebody to ask
  const std::string state = contents(fmt::format("/proc/{}/stat", pid_));
  return !state.empty() && state.find(") Z") == state.npos;
}

void RunningServer::stop() {
  // A server that is still starting may ignore the interrupt: it is not waited for without end.
  if (pid_ > 0)
    shell(
        fmt::format("kill -INT {0}; for i in $(seq 300); do kill -0 {0} 2> /dev/null || exit 0; sleep 0.1; done; "
                    "kill -KILL {0}",
                    pid_));
  pid_ = 0;
}

void RunningServer::kill() {
  if (pid_ > 0) shell(fmt::format("kill -KILL {0}; while kill -0 {0} 2> /dev/null; do sleep 0.05; done", pid_));
  pid_ = 0;
}

std::string RunningServer::log() const { return contents(err_); }

}  // namespace quern
