// Test helper: a certificate for this machine, signed by itself, and a client that trusts it and nothing else.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace quern {

// PEM files of a new key and its certificate, for 127.0.0.1.
void write_certificate(const std::filesystem::path& certificate, const std::filesystem::path& key, const char* name);

struct TlsClientOptions {
  std::string trusted;         // a file of certificates
  int version = 0;             // the only TLS version it speaks, as 0x0303; 0: the best
  std::string protocols = {};  // of ALPN: "http/1.1"
};

class TlsClient {
 public:
  TlsClient(int port, const TlsClientOptions& options);
  ~TlsClient();
  bool connected() const;       // the handshake went well and the server's certificate is trusted
  std::string problem() const;  // why it did not
  bool send(std::string_view bytes) const;
  std::string read_until(std::string_view end) const;  // or until the other side ends
  std::string version() const;                         // "TLSv1.3"
  std::string protocol() const;                        // that ALPN chose
  std::string subject() const;                         // of the server's certificate

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quern
