// The bytes of one connection on a socket that does not block: as they are, or through TLS (tls.h). Used by one thread at a
// time.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <memory>

namespace quern::serve {

class Transport {
 public:
  virtual ~Transport() = default;
  // Like recv and send: how many bytes; 0 of read: the other side has ended. -1 with errno EAGAIN: not now, with another
  // errno: the connection is broken.
  virtual ssize_t read(char* to, size_t n) = 0;
  virtual ssize_t write(const char* from, size_t n) = 0;
  virtual short write_waits_for() const = 0;  // events for poll, after a write that said EAGAIN
  virtual void end() = 0;                     // no more will be written; does not wait
  virtual bool open() const = 0;              // an answer can be written at once: nothing has to be agreed on before
};

std::unique_ptr<Transport> plain_transport(int fd);  // which stays its owner's

}  // namespace quern::serve
