// Each byte is searched for an end of line once.
#include "quern/mcp/protocol/line_reader.h"

namespace quern::mcp {

void LineReader::feed(std::string_view bytes) {
  if (skipping_) {
    const size_t end = bytes.find('\n');
    if (end == bytes.npos) return;
    bytes.remove_prefix(end + 1);
    skipping_ = false;
  }
  buffer_ += bytes;
}

std::optional<LineReader::Line> LineReader::next() {
  const size_t end = buffer_.find('\n', scanned_);
  if (end == buffer_.npos) {
    scanned_ = buffer_.size();
    if (buffer_.size() <= limit_) return std::nullopt;
    buffer_.clear(), buffer_.shrink_to_fit();
    scanned_ = 0, skipping_ = true;
    return Line{.text = {}, .too_long = true};
  }
  Line line;
  if (end > limit_)
    line.too_long = true;
  else
    line.text = buffer_.substr(0, end);
  if (line.text.ends_with('\r')) line.text.pop_back();
  buffer_.erase(0, end + 1);
  scanned_ = 0;
  return line;
}

}  // namespace quern::mcp
