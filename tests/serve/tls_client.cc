#include "tests/serve/tls_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>

namespace quern {

void write_certificate(const std::filesystem::path& certificate, const std::filesystem::path& key, const char* name) {
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> pair(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, void (*)(X509*)> x(X509_new(), X509_free);
  X509_set_version(x.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(x.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(x.get()), -60), X509_gmtime_adj(X509_getm_notAfter(x.get()), 3600);
  X509_NAME* subject = X509_get_subject_name(x.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
  X509_set_issuer_name(x.get(), subject);
  X509_set_pubkey(x.get(), pair.get());
  X509_EXTENSION* where = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1");
  X509_add_ext(x.get(), where, -1);
  X509_EXTENSION_free(where);
  EXPECT_GT(X509_sign(x.get(), pair.get(), EVP_sha256()), 0);
  const std::unique_ptr<FILE, int (*)(FILE*)> c(std::fopen(certificate.c_str(), "w"), std::fclose),
      k(std::fopen(key.c_str(), "w"), std::fclose);
  PEM_write_X509(c.get(), x.get());
  PEM_write_PrivateKey(k.get(), pair.get(), nullptr, nullptr, 0, nullptr, nullptr);
}

struct TlsClient::Impl {
  int fd = -1;
  SSL_CTX* context = nullptr;
  SSL* ssl = nullptr;
  bool connected = false;
  std::string problem;
};

TlsClient::TlsClient(int port, const TlsClientOptions& options) : impl_(std::make_unique<Impl>()) {
  Impl& me = *impl_;
  sockaddr_in a{};
  a.sin_family = AF_INET, a.sin_port = htons(static_cast<uint16_t>(port)), a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  me.fd = ::socket(AF_INET, SOCK_STREAM, 0);
  const timeval patience{.tv_sec = 30, .tv_usec = 0};
  ::setsockopt(me.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  EXPECT_EQ(::connect(me.fd, reinterpret_cast<sockaddr*>(&a), sizeof a), 0);
  me.context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_security_level(me.context, 0);  // old versions are for the server to refuse
  if (options.version != 0)
    SSL_CTX_set_min_proto_version(me.context, options.version),
        SSL_CTX_set_max_proto_version(me.context, options.version);
  SSL_CTX_load_verify_file(me.context, options.trusted.c_str());
  SSL_CTX_set_verify(me.context, SSL_VERIFY_PEER, nullptr);
  me.ssl = SSL_new(me.context);
  if (!options.protocols.empty()) {
    const std::string list = static_cast<char>(options.protocols.size()) + options.protocols;
    SSL_set_alpn_protos(me.ssl, reinterpret_cast<const unsigned char*>(list.data()),
                        static_cast<unsigned>(list.size()));
  }
  SSL_set_fd(me.ssl, me.fd);
  me.connected = SSL_connect(me.ssl) == 1;
  if (me.connected) return;
  const char* why = ERR_reason_error_string(ERR_get_error());
  me.problem = why ? why : "the connection ended";
  ERR_clear_error();
}

TlsClient::~TlsClient() {
  if (impl_->connected) SSL_shutdown(impl_->ssl);
  SSL_free(impl_->ssl), SSL_CTX_free(impl_->context);
  ::close(impl_->fd);
}

bool TlsClient::connected() const { return impl_->connected; }
std::string TlsClient::problem() const { return impl_->problem; }
std::string TlsClient::version() const { return SSL_get_version(impl_->ssl); }

bool TlsClient::send(std::string_view bytes) const {
  return SSL_write(impl_->ssl, bytes.data(), static_cast<int>(bytes.size())) == static_cast<int>(bytes.size());
}

std::string TlsClient::read_until(std::string_view end) const {
  std::string out;
  char buffer[4096];
  while (!out.ends_with(end)) {
    const int n = SSL_read(impl_->ssl, buffer, sizeof buffer);
    if (n <= 0) break;
    out.append(buffer, static_cast<size_t>(n));
  }
  return out;
}

std::string TlsClient::protocol() const {
  const unsigned char* chosen = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(impl_->ssl, &chosen, &size);
  return {reinterpret_cast<const char*>(chosen), size};
}

std::string TlsClient::subject() const {
  X509* x = SSL_get1_peer_certificate(impl_->ssl);
  char name[64] = "";
  if (x) X509_NAME_get_text_by_NID(X509_get_subject_name(x), NID_commonName, name, sizeof name);
  X509_free(x);
  return name;
}

}  // namespace quern
