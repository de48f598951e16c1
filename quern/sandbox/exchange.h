// The caller's side of a run: passes the input on, collects the output up to its limit, and stops the run at its time.
#pragma once
#include <string>
#include <string_view>

#include "quern/sandbox/sandbox.h"

namespace quern::sandbox {

struct RunDescriptors {
  int control = -1, input = -1, output = -1, errors = -1;  // input is closed here; the others are not
};

class Exchange {
 public:
  Exchange(RunDescriptors descriptors, const Limits& limits, const Command& command);  // which must outlive it
  ~Exchange() { close_input(); }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  Result finish();  // throws Error where the command could not be started

 private:
  bool wants_more() const { return fds_.input >= 0 && source_ >= 0 && pending_.empty(); }
  void read_source();
  void write_input();
  void close_input();
  void collect(int& fd, std::string& text);
  void collect_rest();
  void stop(End why);
  void receive_end();

  RunDescriptors fds_;
  Limits limits_;
  int source_;                // of the input; -1: there is no more than `pending_`
  std::string_view pending_;  // what is still to be written
  std::string read_;          // of the source
  Result result_;
  bool stopped_ = false, ended_ = false;
};

}  // namespace quern::sandbox
