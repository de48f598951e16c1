#include "quern/serve/run/service_manager.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

namespace quern::serve {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

int64_t number(const std::string& text) {
  int64_t n = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), n);
  return bad == std::errc() && end == text.data() + text.size() ? n : 0;
}

// Meant for this process, and not for one that started it and passed its environment on.
double expected_seconds() {
  const std::string pid = variable("WATCHDOG_PID");
  if (!pid.empty() && number(pid) != ::getpid()) return 0;
  return static_cast<double>(std::max<int64_t>(0, number(variable("WATCHDOG_USEC")))) / 1e6;
}

}  // namespace

ServiceManager::ServiceManager() : ServiceManager(variable("NOTIFY_SOCKET"), expected_seconds()) {}

ServiceManager::ServiceManager(std::string socket, double watchdog_seconds)
    : socket_(std::move(socket)), watchdog_(socket_.empty() ? 0 : watchdog_seconds) {}

void ServiceManager::reloading() const {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", int64_t{t.tv_sec} * 1'000'000 + t.tv_nsec / 1000));
}

void ServiceManager::status(std::string_view text) const {
  std::string line = fmt::format("STATUS={}", text);
  std::ranges::replace(line, '\n', ' ');
  send(line);
}

void ServiceManager::send(std::string_view message) const {
  sockaddr_un to{};
  if (socket_.empty() || socket_.size() >= sizeof to.sun_path || (socket_[0] != '/' && socket_[0] != '@')) return;
  to.sun_family = AF_UNIX;
  socket_.copy(to.sun_path, socket_.size());
  if (socket_[0] == '@') to.sun_path[0] = '\0';  // an abstract name
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  // A manager that reads nothing holds nobody up.
  const timeval patience{.tv_sec = 0, .tv_usec = 200'000};
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  ::sendto(fd, message.data(), message.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to), size);
  ::close(fd);
}

}  // namespace quern::serve
