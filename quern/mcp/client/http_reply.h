// HTTP/1.1 responses, parsed as their bytes arrive: head, then a body with a length, in chunks, or up to the end.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::mcp {

class HttpReplyReader {
 public:
  // What came of the body; throws Error for what is not HTTP or longer than the limits.
  std::string feed(std::string_view bytes);
  void closed();  // the other side has ended; throws Error when the reply is not whole
  bool has_head() const { return phase_ != Phase::head; }
  bool whole() const { return phase_ == Phase::done; }
  int status() const { return status_; }
  const std::string* header(std::string_view lower_case_name) const;

 private:
  enum class Phase { head, length, chunk_size, chunk, chunk_end, trailer, until_closed, done };
  bool advance(std::string& body);  // false: more has to come
  void read_head(std::string_view text);
  Phase phase_ = Phase::head;
  std::string buffer_;
  int status_ = 0;
  uint64_t wanted_ = 0;  // bytes of the body or chunk that are still to come
  std::vector<std::pair<std::string, std::string>> headers_;
};

}  // namespace quern::mcp
