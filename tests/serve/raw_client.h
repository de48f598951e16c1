// Test helper: sends bytes to a port or socket of this machine and returns the response.
#pragma once
#include <string>
#include <string_view>

namespace quern {

class RawClient {
 public:
  explicit RawClient(int port);
  explicit RawClient(const std::string& path);  // of a socket with a name
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  bool send(std::string_view bytes) const;  // false: the server took only a part
  // Until `end` has come, the other side closes, or `seconds` are over.
  std::string read_until(std::string_view end, double seconds = 20) const;
  std::string read_all(double seconds = 20) const { return read_until("\x01never\x02", seconds); }
  void hang_up();

 private:
  int fd_;
};

struct RawAnswer {
  int status = 0;
  std::string head, body;  // chunked bodies put together
};
RawAnswer ask(RawClient& c, std::string_view method, std::string_view path, std::string_view body = {},
              std::string_view headers = {});  // on a new line, which it closes
RawAnswer http(int port, std::string_view method, std::string_view path, std::string_view body = {},
               std::string_view headers = {});

}  // namespace quern
