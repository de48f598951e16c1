#include "quern/serve/run/signals.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "quern/base/error.h"

namespace quern::serve {
namespace {

constexpr std::array kCaught = {SIGINT, SIGTERM, SIGHUP};
int pipe_end = -1;  // the handler writes here

extern "C" void note_signal(int number) {
  const int before = errno;
  const auto byte = static_cast<unsigned char>(number);
  [[maybe_unused]] const ssize_t n = ::write(pipe_end, &byte, 1);
  errno = before;
}

}  // namespace

struct Signals::Impl {
  int ends[2] = {-1, -1};
  std::array<struct sigaction, kCaught.size()> before = {};
};

Signals::Signals() : impl_(std::make_unique<Impl>()) {
  if (::pipe2(impl_->ends, O_CLOEXEC | O_NONBLOCK) != 0) fail("cannot create a pipe: {}", std::strerror(errno));
  pipe_end = impl_->ends[1];
  struct sigaction action {};
  action.sa_handler = note_signal, action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < kCaught.size(); ++i) ::sigaction(kCaught[i], &action, &impl_->before[i]);
}

Signals::~Signals() {
  for (size_t i = 0; i < kCaught.size(); ++i) ::sigaction(kCaught[i], &impl_->before[i], nullptr);
  pipe_end = -1;
  for (int fd : impl_->ends) ::close(fd);
}

std::optional<int> Signals::wait(double seconds) {
  pollfd p{.fd = impl_->ends[0], .events = POLLIN, .revents = 0};
  if (::poll(&p, 1, static_cast<int>(1000 * seconds)) <= 0) return std::nullopt;
  unsigned char number = 0;
  if (::read(impl_->ends[0], &number, 1) != 1) return std::nullopt;
  return number;
}

}  // namespace quern::serve
