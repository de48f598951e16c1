#include "quern/serve/http/transport.h"

#include <poll.h>
#include <sys/socket.h>

namespace quern::serve {
namespace {

class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(int fd) : fd_(fd) {}
  ssize_t read(char* to, size_t n) override { return ::recv(fd_, to, n, 0); }
  ssize_t write(const char* from, size_t n) override { return ::send(fd_, from, n, MSG_NOSIGNAL); }
  short write_waits_for() const override { return POLLOUT; }
  void end() override {}
  bool open() const override { return true; }

 private:
  int fd_;
};

}  // namespace

std::unique_ptr<Transport> plain_transport(int fd) { return std::make_unique<PlainTransport>(fd); }

}  // namespace quern::serve
