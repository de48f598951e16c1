// Binding, with specific error messages.
#include "quern/serve/http/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "quern/base/error.h"
#include "quern/base/file_lock.h"

namespace quern::serve {
namespace {

constexpr int kBacklog = 512;
constexpr mode_t kOwnerOnly = 0600;

sockaddr_un address_of(const std::string& path) {
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof a.sun_path)
    fail("Unix socket '{}': expected a path of 1 to {} bytes", path, sizeof a.sun_path - 1);
  path.copy(a.sun_path, path.size());
  return a;
}

// Holds other servers off that want a socket in the same folder: between taking a stale one away and listening a
// second server would take the new one for stale. A folder that cannot be locked is one where bind says why, or one
// whose system has no such locks; one that somebody holds for seconds is refused, since no server needs it so long.
class FolderLock {
 public:
  explicit FolderLock(const std::string& path)
      : fd_(::open(std::filesystem::absolute(path).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (fd_ < 0) return;
    if (!lock_exclusively(fd_) && errno == EWOULDBLOCK) {
      ::close(fd_);
      fail("Unix socket {}: another process holds a lock on its folder", path);
    }
  }
  ~FolderLock() {
    if (fd_ >= 0) ::close(fd_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_;
};

int new_socket(int family, int type) { return ::socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

// Takes away a socket that nobody answers at; throws when there is anything else.
void make_way(const std::string& path, const sockaddr_un& a) {
  struct stat s {};
  if (::lstat(path.c_str(), &s) != 0) return;  // nothing there, or a reason that bind will name
  if (!S_ISSOCK(s.st_mode)) fail("Unix socket {}: the path exists and is not a socket; choose another path", path);
  const int fd = new_socket(AF_UNIX, SOCK_STREAM);
  const bool answered = fd >= 0 && ::connect(fd, reinterpret_cast<const sockaddr*>(&a), sizeof a) == 0;
  const int why = errno;
  if (fd >= 0) ::close(fd);
  if (answered || why == EAGAIN) fail("Unix socket {}: another server listens on it", path);
  if (why != ECONNREFUSED)
    fail("Unix socket {}: cannot check whether a server listens on it: {}", path, std::strerror(why));
  ::unlink(path.c_str());
}

}  // namespace

Listener::Listener(int fd, std::string path) : fd_(fd), path_(std::move(path)) {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  ::getsockname(fd_, reinterpret_cast<sockaddr*>(&at), &size);
  if (at.ss_family == AF_INET6) port_ = ntohs(reinterpret_cast<sockaddr_in6&>(at).sin6_port);
  if (at.ss_family == AF_INET) port_ = ntohs(reinterpret_cast<sockaddr_in&>(at).sin_port);
  struct stat s {};
  if (!path_.empty() && ::lstat(path_.c_str(), &s) == 0) device_ = s.st_dev, inode_ = s.st_ino;
}

Listener::Listener(Listener&& o) noexcept
    : fd_(std::exchange(o.fd_, -1)),
      port_(o.port_),
      path_(std::move(o.path_)),
      device_(o.device_),
      inode_(o.inode_) {}

Listener::~Listener() {
  if (fd_ < 0) return;
  struct stat s {};
  if (!path_.empty() && ::lstat(path_.c_str(), &s) == 0 && s.st_dev == device_ && s.st_ino == inode_)
    ::unlink(path_.c_str());
  ::close(fd_);
}

Listener Listener::at_port(const std::string& host, int port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM, hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  const std::string service = std::to_string(port);
  if (int bad = ::getaddrinfo(host.c_str(), service.c_str(), &hints, &found); bad != 0)
    fail("host '{}': {}", host, ::gai_strerror(bad));
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(found, &::freeaddrinfo);
  int error = 0;
  for (const addrinfo* a = found; a; a = a->ai_next) {
    const int fd = new_socket(a->ai_family, a->ai_socktype);
    if (fd < 0) continue;
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(fd, a->ai_addr, a->ai_addrlen) == 0 && ::listen(fd, kBacklog) == 0) return {fd, ""};
    error = errno;
    ::close(fd);
  }
  fail("cannot listen on {} port {}: {}; choose another {}", host, port, std::strerror(error),
       error == EADDRNOTAVAIL ? "address, one of this machine" : "port");
}

Listener Listener::at_path(const std::string& path) {
  const sockaddr_un a = address_of(path);
  const FolderLock lock(path);
  make_way(path, a);
  const int fd = new_socket(AF_UNIX, SOCK_STREAM);
  if (fd < 0) fail("cannot create a socket: {}", std::strerror(errno));
  // The mode of the socket before it has a name is the name's from the first moment.
  const bool bound =
      ::fchmod(fd, kOwnerOnly) == 0 && ::bind(fd, reinterpret_cast<const sockaddr*>(&a), sizeof a) == 0;
  const bool good = bound && ::chmod(path.c_str(), kOwnerOnly) == 0 && ::listen(fd, kBacklog) == 0;
  if (good) return {fd, path};
  const int error = errno;
  if (bound) ::unlink(path.c_str());
  ::close(fd);
  fail("Unix socket {}: cannot listen on it: {}", path, std::strerror(error));
}

}  // namespace quern::serve
