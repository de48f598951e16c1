// Ctrl-C stops the generation, not the program: while an Interrupt exists, SIGINT only sets a flag.
#pragma once
#include <csignal>

namespace quern::cli {

class Interrupt {
 public:
  Interrupt() {
    flag() = 0;
    struct sigaction a {};
    a.sa_handler = [](int) { flag() = 1; };
    sigaction(SIGINT, &a, &before_);
  }
  ~Interrupt() { sigaction(SIGINT, &before_, nullptr); }
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  bool raised() const { return flag() != 0; }

 private:
  static volatile std::sig_atomic_t& flag() {
    static volatile std::sig_atomic_t f = 0;
    return f;
  }
  struct sigaction before_ {};
};

}  // namespace quern::cli
