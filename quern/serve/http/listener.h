// The server's listening socket: a TCP address and port, or a Unix socket that only its owner may use.
#pragma once
#include <string>

namespace quern::serve {

class Listener {
 public:
  static Listener at_port(const std::string& host, int port);  // 0: any free one
  // Made with mode 0600. A socket there that nobody listens on was left behind by a server that ended badly, and is
  // replaced; anything else there is an Error. Taken away in the end, unless somebody has put another there.
  static Listener at_path(const std::string& path);
  Listener(Listener&& o) noexcept;
  Listener& operator=(Listener&&) = delete;
  ~Listener();
  int fd() const { return fd_; }
  int port() const { return port_; }  // 0: it has none

 private:
  Listener(int fd, std::string path);
  int fd_ = -1, port_ = 0;
  std::string path_;
  unsigned long device_ = 0, inode_ = 0;  // of the name that is ours
};

}  // namespace quern::serve
