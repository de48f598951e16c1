// Test helper: quern serve in the background, on a port of its own, until it goes out of scope.
#pragma once
#include "tests/cli/shell.h"

namespace quern {

class RunningServer {
 public:
  // `before`: shell commands run first, like "ulimit -f 100;". The folder gets its output.
  RunningServer(const ScratchFolder& folder, const std::string& arguments, const std::string& before = "");
  ~RunningServer() { stop(); }
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;
  void stop();
  void kill();                        // at once, as out of memory does
  int port() const { return port_; }  // 0: it ended before it listened
  std::string log() const;

 private:
  bool alive() const;
  std::string out_, err_;
  int pid_ = 0, port_ = 0;
};

}  // namespace quern
