// Any bytes as a client's: whole or in pieces they make the same requests or the same refusal, within the limits.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "quern/serve/http/http_message.h"

namespace {

struct Heard {
  std::vector<std::string> requests;
  int refused = 0;
  bool operator==(const Heard&) const = default;
};

Heard hear(std::string_view bytes, size_t step) {
  quern::serve::HttpParser p({.line = 256, .header_bytes = 1024, .headers = 8, .body = 4096});
  Heard h;
  for (size_t at = 0; at < bytes.size(); at += step) {
    p.feed(bytes.substr(at, step));
    while (p.state() == quern::serve::HttpParser::State::whole) {
      const quern::serve::HttpRequest r = p.take();
      if (r.body.size() > 4096 || r.headers.size() > 8) std::abort();
      h.requests.push_back(r.method + " " + r.path + " " + r.body);
    }
    if (p.state() == quern::serve::HttpParser::State::bad) {
      h.refused = p.status();
      break;
    }
  }
  return h;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Heard pieces = hear(bytes, 1);
  const Heard whole = hear(bytes, std::max<size_t>(1, size));
  // A limit may be seen earlier byte by byte; what was understood before is the same.
  const size_t n = std::min(pieces.requests.size(), whole.requests.size());
  for (size_t i = 0; i < n; ++i)
    if (pieces.requests[i] != whole.requests[i]) std::abort();
  return 0;
}
