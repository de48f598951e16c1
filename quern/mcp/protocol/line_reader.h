// Lines of a stream that arrives in pieces, one message each; a line longer than the limit is reported once and skipped.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "quern/mcp/protocol/message.h"

namespace quern::mcp {

class LineReader {
 public:
  explicit LineReader(size_t limit = kMaxMessageBytes) : limit_(limit) {}
  void feed(std::string_view bytes);
  struct Line {
    std::string text;
    bool too_long = false;  // then there is no text
  };
  std::optional<Line> next();  // nothing: more has to come

 private:
  size_t limit_, scanned_ = 0;
  bool skipping_ = false;
  std::string buffer_;
};

}  // namespace quern::mcp
