#include "tests/cli/shell.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "quern/base/mmap.h"

namespace quern {

ScratchFolder::ScratchFolder() {
  static int count = 0;
  path_ = std::filesystem::temp_directory_path() /
          ("quern_cli_" + std::to_string(::getpid()) + "_" + std::to_string(++count));
  std::filesystem::create_directories(path_);
}
ScratchFolder::~ScratchFolder() { std::filesystem::remove_all(path_); }

Ran shell(const std::string& command) {
  static ScratchFolder logs;
  std::string out = logs / "out", err = logs / "err";
  std::string path = std::string(QUERN_BINARY_DIR) + "/apps/quern";
  int status = std::system(
      ("export PATH='" + path + "':\"$PATH\"; { " + command + "; } >'" + out + "' 2>'" + err + "'").c_str());
  Ran r;
  r.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  r.out = read_file(out);
  r.err = read_file(err);
  return r;
}

}  // namespace quern
