// Server-sent events of a stream that arrives in pieces.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "quern/mcp/protocol/line_reader.h"

namespace quern::mcp {

struct ServerEvent {
  std::string event, data;  // data: its lines joined by line feeds
};

class EventReader {
 public:
  explicit EventReader(size_t limit = kMaxMessageBytes) : lines_(limit), limit_(limit) {}
  void feed(std::string_view bytes) { lines_.feed(bytes); }
  // Nothing: more has to come. Comments and events without data are skipped. Throws Error for an event that is too long.
  std::optional<ServerEvent> next();

 private:
  LineReader lines_;
  size_t limit_;
  ServerEvent event_;
  bool has_data_ = false;
};

}  // namespace quern::mcp
