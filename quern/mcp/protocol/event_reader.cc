// Fields of events, line by line.
#include "quern/mcp/protocol/event_reader.h"

#include <utility>

namespace quern::mcp {

std::optional<ServerEvent> EventReader::next() {
  while (const auto line = lines_.next()) {
    if (line->too_long || event_.data.size() + line->text.size() > limit_)
      fail("a server-sent event of more than {} bytes", limit_);
    const std::string& text = line->text;
    if (text.empty()) {
      ServerEvent whole = std::exchange(event_, {});
      if (std::exchange(has_data_, false)) return whole;
      continue;
    }
    const size_t colon = text.find(':');
    if (colon == 0) continue;
    const std::string name = text.substr(0, colon);
    std::string value = colon == text.npos ? "" : text.substr(colon + 1);
    if (value.starts_with(' ')) value.erase(0, 1);
    if (name == "event") event_.event = std::move(value);
    if (name == "data") {
      event_.data += (has_data_ ? "\n" : "") + value;
      has_data_ = true;
    }
  }
  return std::nullopt;
}

}  // namespace quern::mcp
