// A socket that does not block, so that a caller who no longer waits is heeded.
#include "quern/mcp/client/http_call.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace quern::mcp {
namespace {

[[noreturn]] void unreachable(const std::string& what) { throw ClientError(ClientError::Kind::unreachable, what); }

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

void wait_for(int fd, short events, const Until& until) {
  for (;;) {
    until.check();
    pollfd p{.fd = fd, .events = events, .revents = 0};
    if (::poll(&p, 1, until.slice_ms()) > 0) return;
  }
}

// 0 and a connected socket, or why not.
int connect_to(const addrinfo& a, const Until& until, std::unique_ptr<Socket>& out) {
  auto s =
      std::make_unique<Socket>(::socket(a.ai_family, a.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a.ai_protocol));
  if (s->fd() < 0) return errno;
  if (::connect(s->fd(), a.ai_addr, a.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return errno;
    wait_for(s->fd(), POLLOUT, until);
    int fault = 0;
    socklen_t size = sizeof fault;
    ::getsockopt(s->fd(), SOL_SOCKET, SO_ERROR, &fault, &size);
    if (fault != 0) return fault;
  }
  out = std::move(s);
  return 0;
}

std::unique_ptr<Socket> connect_to(const HttpUrl& url, const Until& until) {
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (const int fault = ::getaddrinfo(url.host.c_str(), url.port.c_str(), &hints, &list); fault != 0)
    unreachable(fmt::format("cannot find {}: {}", url.host, ::gai_strerror(fault)));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(list, ::freeaddrinfo);
  std::unique_ptr<Socket> socket;
  int fault = 0;
  for (const addrinfo* a = list; a && !socket; a = a->ai_next) fault = connect_to(*a, until, socket);
  if (!socket) unreachable(fmt::format("cannot connect to {}: {}", url.authority(), std::strerror(fault)));
  return socket;
}

void send_all(int fd, std::string_view data, const Until& until) {
  while (!data.empty()) {
    const ssize_t n = ::send(fd, data.data(), data.size(), MSG_NOSIGNAL);
    if (n > 0)
      data.remove_prefix(static_cast<size_t>(n));
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
      wait_for(fd, POLLOUT, until);
    else if (errno != EINTR)
      return;  // a server may answer before it has read everything
  }
}

}  // namespace

std::string HttpUrl::authority() const {
  const std::string name = host.find(':') != host.npos ? "[" + host + "]" : host;
  return port == "80" ? name : name + ":" + port;
}

HttpUrl parse_url(const std::string& url) {
  if (url.starts_with("https://"))
    fail("{}: https is not supported: put a local proxy that speaks TLS in between, and give its http address",
         url.substr(0, url.find_first_of("?#")));
  if (!url.starts_with("http://")) fail("'{}': expected a url such as http://127.0.0.1:9000/mcp", url);
  std::string rest = url.substr(7);
  rest.resize(std::min(rest.find('#'), rest.size()));
  const size_t slash = std::min(rest.find_first_of("/?"), rest.size());
  HttpUrl u{.host = rest.substr(0, slash), .port = "80", .path = rest.substr(slash)};
  if (!u.path.starts_with('/')) u.path.insert(0, "/");
  if (u.host.find('@') != u.host.npos) fail("a url with a user name is not supported: use headers");
  const size_t bracket = u.host.find(']'), colon = u.host.find(':', bracket == u.host.npos ? 0 : bracket);
  if (colon != u.host.npos) u.port = u.host.substr(colon + 1), u.host.resize(colon);
  if (u.host.starts_with('[') && u.host.ends_with(']')) u.host = u.host.substr(1, u.host.size() - 2);
  const bool good_port =
      !u.port.empty() && u.port.size() <= 5 && u.port.find_first_not_of("0123456789") == u.port.npos;
  const bool clean = (u.host + u.path).find_first_of(std::string_view("\r\n\t \0", 5)) == std::string::npos;
  if (u.host.empty() || !good_port || !clean) fail("'{}': expected a url such as http://127.0.0.1:9000/mcp", url);
  return u;
}

void run_http_call(const HttpUrl& url, const HttpCall& call, const Until& until, const OnBody& on_body) {
  const auto socket = connect_to(url, until);
  std::string request = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n",
                                    call.method, url.path, url.authority(), call.body.size());
  for (const auto& [name, value] : call.headers) request += name + ": " + value + "\r\n";
  send_all(socket->fd(), request + "\r\n" + call.body, until);
  HttpReplyReader reply;
  std::string buffer(size_t{64} << 10, '\0');
  bool told = false;  // a reply without a body is handed on once
  try {
    while (!reply.whole()) {
      wait_for(socket->fd(), POLLIN, until);
      const ssize_t n = ::recv(socket->fd(), buffer.data(), buffer.size(), 0);
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (n < 0) unreachable(fmt::format("the connection to {} broke: {}", url.authority(), std::strerror(errno)));
      std::string body;
      if (n == 0)
        reply.closed();
      else
        body = reply.feed({buffer.data(), static_cast<size_t>(n)});
      if (!reply.has_head() || (body.empty() && !reply.whole())) continue;
      told = true;
      if (!on_body(reply, body)) return;
    }
  } catch (const ClientError&) {
    throw;
  } catch (const Error& e) {
    unreachable(fmt::format("{}: {}", url.authority(), e.what()));
  }
  if (!told) on_body(reply, {});
}

}  // namespace quern::mcp
