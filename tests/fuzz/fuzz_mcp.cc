// Any bytes as an MCP peer's: lines, events and HTTP replies are the same whole and in pieces; a message that is accepted
// is written and read again as itself.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "quern/mcp/client/http_reply.h"
#include "quern/mcp/client/remote_server.h"
#include "quern/mcp/protocol/event_reader.h"
#include "quern/mcp/protocol/message.h"

namespace {

using namespace quern::mcp;

std::vector<std::string> lines(std::string_view bytes, size_t step) {
  LineReader r(200);
  std::vector<std::string> out;
  for (size_t at = 0; at < bytes.size(); at += step) {
    r.feed(bytes.substr(at, step));
    while (const auto line = r.next()) out.push_back(line->too_long ? "\n" : line->text);
  }
  return out;
}

// What came before an event that is too long may depend on the pieces; nothing else may.
std::pair<std::vector<std::string>, bool> events(std::string_view bytes, size_t step) {
  EventReader r(200);
  std::vector<std::string> out;
  try {
    for (size_t at = 0; at < bytes.size(); at += step) {
      r.feed(bytes.substr(at, step));
      while (const auto e = r.next()) out.push_back(e->event + "\n" + e->data);
    }
  } catch (const quern::Error&) {
    return {out, false};
  }
  return {out, true};
}

std::pair<std::string, bool> reply(std::string_view bytes, size_t step) {
  HttpReplyReader r;
  std::string body;
  try {
    for (size_t at = 0; at < bytes.size(); at += step) body += r.feed(bytes.substr(at, step));
    r.closed();
  } catch (const quern::Error&) {
    return {{}, false};
  }
  return {body, true};
}

void read(std::string_view text) {
  try {
    const quern::Json j = parse_text(text);
    const Message m = read_message(j);
    if (m.kind == Message::Kind::response && !m.error) {
      if (read_message(result_json(m.id, m.result)).result != m.result) std::abort();
      read_result(m.result);
    } else if (m.kind == Message::Kind::request) {
      const Message again = read_message(request_json(m.id, m.method, m.params));
      if (again.method != m.method || again.id != m.id || again.params != m.params) std::abort();
    }
  } catch (const quern::Error&) {  // refused
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const size_t step : {size_t{1}, size_t{7}}) {
    if (lines(bytes, step) != lines(bytes, size + 1)) std::abort();
    const auto pieces = events(bytes, step), whole = events(bytes, size + 1);
    if (pieces.second != whole.second || (whole.second && pieces.first != whole.first)) std::abort();
    if (reply(bytes, step) != reply(bytes, size + 1)) std::abort();
  }
  read(bytes);
  return 0;
}
