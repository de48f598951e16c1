#include "tests/serve/raw_client.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>

#include "quern/base/error.h"

namespace quern {

RawClient::RawClient(int port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in a{};
  a.sin_family = AF_INET, a.sin_port = htons(static_cast<uint16_t>(port)), a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  QUERN_CHECK(::connect(fd_, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0, "cannot connect to port {}", port);
}
RawClient::RawClient(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  path.copy(a.sun_path, sizeof a.sun_path - 1);
  QUERN_CHECK(::connect(fd_, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0, "cannot connect to {}", path);
}
RawClient::~RawClient() { hang_up(); }
void RawClient::hang_up() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

bool RawClient::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;  // the server has had enough: what it says is read next
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

std::string RawClient::read_until(std::string_view end, double seconds) const {
  const auto late = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::string got;
  char buffer[4096];
  while (got.find(end) == got.npos) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(late - std::chrono::steady_clock::now()).count();
    pollfd p{.fd = fd_, .events = POLLIN, .revents = 0};
    if (left <= 0 || ::poll(&p, 1, static_cast<int>(left)) <= 0) break;
    const ssize_t n = ::recv(fd_, buffer, sizeof buffer, 0);
    if (n <= 0) break;
    got.append(buffer, static_cast<size_t>(n));
  }
  return got;
}

RawAnswer http(int port, std::string_view method, std::string_view path, std::string_view body,
               std::string_view headers) {
  RawClient c(port);
  return ask(c, method, path, body, headers);
}

RawAnswer ask(RawClient& c, std::string_view method, std::string_view path, std::string_view body,
              std::string_view headers) {
  c.send(fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n{}\r\n{}",
                     method, path, body.size(), headers, body));
  const std::string all = c.read_all();
  RawAnswer a;
  const size_t blank = all.find("\r\n\r\n");
  if (blank == all.npos || all.size() < 12) return a;
  a.status = std::stoi(all.substr(9, 3));
  a.head = all.substr(0, blank);
  std::string rest = all.substr(blank + 4);
  if (a.head.find("transfer-encoding: chunked") == a.head.npos) {
    a.body = rest;
    return a;
  }
  for (size_t at = 0; at < rest.size();) {
    const size_t line = rest.find("\r\n", at);
    if (line == rest.npos) break;
    const size_t n = std::stoul(rest.substr(at, line - at), nullptr, 16);
    if (n == 0) break;
    a.body += rest.substr(line + 2, n);
    at = line + 2 + n + 2;
  }
  return a;
}

}  // namespace quern
