// Progress on stderr: a line that is rewritten on a terminal, else a line every ten seconds. LiveLine writes one line;
// Progress decides when, and computes rates.
#pragma once
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

namespace quern::cli {

class LiveLine {
 public:
  bool terminal() const { return terminal_; }
  void show(const std::string& text) {
    terminal_ ? fmt::print(stderr, "\r{}\x1b[K", text) : fmt::print(stderr, "{}\n", text);
    std::fflush(stderr);
    open_ = terminal_;
  }
  void end() { close("\n"); }          // keeps what stands there
  void clear() { close("\r\x1b[K"); }  // wipes it

 private:
  void close(const char* how) {
    if (open_) fmt::print(stderr, "{}", how);
    open_ = false;
  }
  bool terminal_ = isatty(STDERR_FILENO) != 0, open_ = false;
};

class Progress {
 public:
  template <class... A>
  void operator()(fmt::format_string<A...> f, A&&... a) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < (line_.terminal() ? std::chrono::milliseconds(200) : std::chrono::milliseconds(10'000))) return;
    last_ = now;
    line_.show(fmt::format(f, std::forward<A>(a)...));
  }
  // "read  42 %  83 MB/s  12 s left": of bytes done since this stage was first named.
  void share(const std::string& stage, uint64_t bytes, uint64_t total) {
    const auto now = std::chrono::steady_clock::now();
    if (stage != stage_) stage_ = stage, begun_ = now;
    const double s = std::chrono::duration<double>(now - begun_).count();
    if (s < 0.2 || total == 0 || bytes == 0) return;
    const double rate = static_cast<double>(bytes) / s;
    (*this)("{:<8} {:3.0f} %  {:.0f} MB/s  {:.0f} s left", stage,
            100.0 * static_cast<double>(bytes) / static_cast<double>(total), rate / 1e6,
            static_cast<double>(total - bytes) / rate);
  }
  ~Progress() { line_.clear(); }

 private:
  LiveLine line_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now(), begun_ = last_;
  std::string stage_;
};

}  // namespace quern::cli
