#include "quern/serve/http/tls.h"

#include "quern/base/error.h"

#ifdef QUERN_TLS
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <climits>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace quern::serve {
namespace {

using Context = std::shared_ptr<SSL_CTX>;

std::string ssl_reason() {
  const unsigned long code = ::ERR_get_error();
  ::ERR_clear_error();
  const char* text = code == 0 ? nullptr : ::ERR_reason_error_string(code);
  return text ? text : "unknown error";
}

// A socket of its own kind: OpenSSL's would raise SIGPIPE where the client is gone.
int bio_write(BIO* b, const char* from, int n) {
  ::BIO_clear_retry_flags(b);
  const auto fd = static_cast<int>(reinterpret_cast<intptr_t>(::BIO_get_data(b)));
  const ssize_t done = ::send(fd, from, static_cast<size_t>(n), MSG_NOSIGNAL);
  if (done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) ::BIO_set_retry_write(b);
  return static_cast<int>(done);
}
int bio_read(BIO* b, char* to, int n) {
  ::BIO_clear_retry_flags(b);
  const auto fd = static_cast<int>(reinterpret_cast<intptr_t>(::BIO_get_data(b)));
  const ssize_t done = ::recv(fd, to, static_cast<size_t>(n), 0);
  if (done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) ::BIO_set_retry_read(b);
  return static_cast<int>(done);
}
long bio_control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

BIO_METHOD* socket_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* m = ::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    if (!m) fail("TLS: out of memory");
    ::BIO_meth_set_write(m, bio_write), ::BIO_meth_set_read(m, bio_read), ::BIO_meth_set_ctrl(m, bio_control);
    return m;
  }();
  return method;
}

// Of the protocols that a client offers, HTTP/1.1; a client that offers others only goes on without.
int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* offered,
                    unsigned size, void*) {
  constexpr std::string_view kWanted = "http/1.1";
  for (unsigned i = 0; i < size; i += 1u + offered[i]) {
    const std::string_view one(reinterpret_cast<const char*>(offered + i + 1),
                               std::min<size_t>(offered[i], size - i - 1));
    if (one != kWanted) continue;
    *out = offered + i + 1, *out_size = offered[i];
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_NOACK;
}

Context new_context(const TlsFiles& files) {
  ::ERR_clear_error();
  Context c(::SSL_CTX_new(::TLS_server_method()), ::SSL_CTX_free);
  if (!c) fail("TLS: {}", ssl_reason());
  ::SSL_CTX_set_min_proto_version(c.get(), TLS1_2_VERSION);
  ::SSL_CTX_set_options(c.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  ::SSL_CTX_set_mode(c.get(),
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  ::SSL_CTX_set_alpn_select_cb(c.get(), choose_protocol, nullptr);
  // A key with a passphrase would ask for it on the terminal.
  ::SSL_CTX_set_default_passwd_cb(c.get(), [](char*, int, int, void*) { return 0; });
  if (::SSL_CTX_use_certificate_chain_file(c.get(), files.certificate.c_str()) != 1)
    fail("TLS certificate {}: {}; expected a PEM file", files.certificate.string(), ssl_reason());
  if (::SSL_CTX_use_PrivateKey_file(c.get(), files.key.c_str(), SSL_FILETYPE_PEM) != 1)
    fail("TLS key {}: {}; expected a PEM file without a passphrase, of the key that belongs to {}",
         files.key.string(), ssl_reason(), files.certificate.string());
  return c;
}

class TlsTransport final : public Transport {
 public:
  TlsTransport(SSL_CTX* context, int fd) : fd_(fd), ssl_(::SSL_new(context), ::SSL_free) {
    BIO* b = ssl_ ? ::BIO_new(socket_method()) : nullptr;
    if (!b) throw std::bad_alloc();
    ::BIO_set_data(b, reinterpret_cast<void*>(static_cast<intptr_t>(fd)));
    ::BIO_set_init(b, 1);
    ::SSL_set_bio(ssl_.get(), b, b);
    ::SSL_set_accept_state(ssl_.get());
  }
  // What has to be written meanwhile (the handshake) fits into a socket's buffer; a client that does not take it is given
  // up rather than waited for.
  ssize_t read(char* to, size_t n) override {
    ::ERR_clear_error();
    const int got = ::SSL_read(ssl_.get(), to, clamped(n));
    if (got > 0) return got;
    const int why = ::SSL_get_error(ssl_.get(), got);
    if (why == SSL_ERROR_ZERO_RETURN) return 0;
    errno = why == SSL_ERROR_WANT_READ ? EAGAIN : EPROTO;
    if (errno == EPROTO && ERR_GET_REASON(::ERR_peek_error()) == SSL_R_HTTP_REQUEST) answer_plain();
    return -1;
  }
  ssize_t write(const char* from, size_t n) override {
    ::ERR_clear_error();
    const int done = ::SSL_write(ssl_.get(), from, clamped(n));
    if (done > 0) return done;
    const int why = ::SSL_get_error(ssl_.get(), done);
    waits_for_ = why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
    errno = why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? EAGAIN : EPROTO;
    return -1;
  }
  short write_waits_for() const override { return waits_for_; }
  void end() override {
    ::ERR_clear_error();
    if (open()) ::SSL_shutdown(ssl_.get());
    ::ERR_clear_error();
  }
  bool open() const override { return ::SSL_is_init_finished(ssl_.get()) == 1; }

 private:
  static int clamped(size_t n) { return static_cast<int>(std::min<size_t>(n, INT_MAX)); }
  void answer_plain() const {
    constexpr std::string_view kAnswer =
        "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\nconnection: close\r\ncontent-length: 46\r\n\r\n"
        "this port speaks TLS: the URL begins https://\n";
    ::send(fd_, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL);
  }

  int fd_;
  std::unique_ptr<SSL, void (*)(SSL*)> ssl_;
  short waits_for_ = POLLOUT;
};

}  // namespace

struct TlsServer::Impl {
  TlsFiles files;
  mutable std::mutex mutex;
  Context context;
};

TlsServer::TlsServer(TlsFiles files) : impl_(std::make_unique<Impl>()) {
  impl_->files = std::move(files);
  reload();
}
TlsServer::~TlsServer() = default;

void TlsServer::reload() {
  Context fresh = new_context(impl_->files);
  std::lock_guard lock(impl_->mutex);
  impl_->context.swap(fresh);
}

std::unique_ptr<Transport> TlsServer::accept(int fd) const {
  std::unique_lock lock(impl_->mutex);
  const Context context = impl_->context;
  lock.unlock();
  return std::make_unique<TlsTransport>(context.get(), fd);  // which holds on to the context by itself
}

}  // namespace quern::serve

#else

namespace quern::serve {

struct TlsServer::Impl {};
TlsServer::TlsServer(TlsFiles) {
  fail("TLS: this quern was built without OpenSSL: build it with -DQUERN_TLS=ON, or put a proxy in front");
}
TlsServer::~TlsServer() = default;
void TlsServer::reload() {}
std::unique_ptr<Transport> TlsServer::accept(int fd) const { return plain_transport(fd); }

}  // namespace quern::serve
#endif
