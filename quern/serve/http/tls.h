// TLS 1.2 and 1.3 for the server's connections, by OpenSSL, which only tls.cc includes. Built without it (QUERN_TLS=OFF), a
// server with a certificate is refused.
#pragma once
#include <filesystem>
#include <memory>

#include "quern/serve/http/transport.h"

namespace quern::serve {

struct TlsFiles {
  std::filesystem::path certificate, key;  // PEM; the certificate's chain follows it in the same file
};

class TlsServer {
 public:
  explicit TlsServer(TlsFiles files);  // throws Error naming the file, also where they do not belong together
  ~TlsServer();
  void reload();  // the files, for new connections; throws Error, and all stays
  std::unique_ptr<Transport> accept(
      int fd) const;  // which stays its owner's; the handshake comes with the first read

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quern::serve
