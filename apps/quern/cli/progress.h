// Progress on stderr: a line that is rewritten on a terminal, else a line every ten seconds.
#pragma once
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

namespace quern {

class Progress {
 public:
  template <class... A>
  void operator()(fmt::format_string<A...> f, A&&... a) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < (terminal_ ? std::chrono::milliseconds(200) : std::chrono::milliseconds(10'000))) return;
    last_ = now;
    const std::string text = fmt::format(f, std::forward<A>(a)...);
    terminal_ ? fmt::print(stderr, "\r{}\x1b[K", text) : fmt::print(stderr, "{}\n", text);
    drawn_ = terminal_;
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
  ~Progress() {
    if (drawn_) fmt::print(stderr, "\r\x1b[K");
  }

 private:
  bool terminal_ = isatty(STDERR_FILENO) != 0, drawn_ = false;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now(), begun_ = last_;
  std::string stage_;
};

}  // namespace quern
