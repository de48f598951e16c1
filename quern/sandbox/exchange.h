// The caller's side of a run: writes the input, collects the output up to its limit, and stops the run at its time.
#pragma once
#include "quern/sandbox/sandbox.h"

namespace quern::sandbox {

struct RunDescriptors {
  int control = -1, input = -1, output = -1, errors = -1;  // input is closed here; the others are not
};

class Exchange {
 public:
  Exchange(RunDescriptors descriptors, const Limits& limits, const std::string& input);
  ~Exchange() { close_input(); }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  Result finish();  // throws Error where the command could not be started

 private:
  void write_input();
  void close_input();
  void collect(int& fd, std::string& text);
  void collect_rest();
  void stop(End why);
  void receive_end();

  RunDescriptors fds_;
  Limits limits_;
  const std::string& input_;
  size_t written_ = 0;
  Result result_;
  bool stopped_ = false, ended_ = false;
};

}  // namespace quern::sandbox
