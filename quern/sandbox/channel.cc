#include "quern/sandbox/channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "quern/base/error.h"

namespace quern::sandbox {
namespace {

bool send_all(int socket, const void* data, size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = ::send(socket, at, size, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n, size -= static_cast<size_t>(n);
  }
  return true;
}

bool receive_all(int socket, void* data, size_t size) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t n = ::recv(socket, at, size, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n, size -= static_cast<size_t>(n);
  }
  return true;
}

void put(std::string& blob, const std::string& s) {
  const uint64_t size = s.size();
  blob.append(reinterpret_cast<const char*>(&size), sizeof(size)) += s;
}

// Reads what put() wrote, by a caller that is trusted; a bug must still not read past the end.
struct BlobReader {
  const std::string& blob;
  size_t at = 0;
  uint64_t number() {
    uint64_t n = 0;
    QUERN_CHECK(blob.size() - at >= sizeof(n));
    std::memcpy(&n, blob.data() + at, sizeof(n));
    at += sizeof(n);
    return n;
  }
  std::string text() {
    const uint64_t n = number();
    QUERN_CHECK(blob.size() - at >= n);
    at += n;
    return blob.substr(at - n, n);
  }
};

}  // namespace

void send_report(int socket, const Report& report) { send_all(socket, &report, sizeof(report)); }

void send_failure(int socket, Report::Kind kind, const std::string& text, int32_t value) {
  Report r{.kind = kind, .value = value};
  std::memcpy(r.text, text.data(), std::min(text.size(), sizeof(r.text) - 1));
  send_report(socket, r);
}

std::optional<Report> receive_report(int socket, int timeout_ms) {
  pollfd p{socket, POLLIN, 0};
  int n = 0;
  while ((n = ::poll(&p, 1, timeout_ms)) < 0 && errno == EINTR) {
  }
  Report r;
  if (n <= 0 || !receive_all(socket, &r, sizeof(r))) return std::nullopt;
  r.text[sizeof(r.text) - 1] = 0;
  return r;
}

void send_command(int socket, const Command& command) {
  std::string blob;
  const uint64_t words = command.argv.size(), files = command.files.size();
  blob.append(reinterpret_cast<const char*>(&words), sizeof(words));
  for (const std::string& w : command.argv) put(blob, w);
  blob.append(reinterpret_cast<const char*>(&files), sizeof(files));
  for (const InputFile& f : command.files) put(blob, f.name), put(blob, f.text);
  const uint64_t size = blob.size();
  if (!send_all(socket, &size, sizeof(size)) || !send_all(socket, blob.data(), blob.size()))
    fail("sandbox: the isolated process ended before it got its command");
}

std::optional<Command> receive_command(int socket) {
  uint64_t size = 0;
  if (!receive_all(socket, &size, sizeof(size))) return std::nullopt;
  std::string blob(size, '\0');
  if (!receive_all(socket, blob.data(), size)) return std::nullopt;
  Command c;
  BlobReader in{blob};
  for (uint64_t n = in.number(); n > 0; --n) c.argv.push_back(in.text());
  for (uint64_t n = in.number(); n > 0; --n) {
    std::string name = in.text();
    c.files.push_back({std::move(name), in.text()});
  }
  return c;
}

void fail_errno(const std::string& what) {
  const int e = errno;
  fail("{}: {}", what, std::strerror(e));
}

}  // namespace quern::sandbox
