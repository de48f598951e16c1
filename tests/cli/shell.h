// Test helper: runs the binary as a user would.
#pragma once
#include <filesystem>
#include <string>

namespace quern {

struct Ran {
  int code = 0;
  std::string out, err;
};
// A shell command; `quern` in it is the binary under test.
Ran shell(const std::string& command);
// The same for one program, which gets SIGKILL when it still runs after so many seconds (code 137). It is gone, and
// so are its locks, when this returns.
Ran shell_killed_after(double seconds, const std::string& command);

class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace quern
