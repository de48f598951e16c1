// HTTP/1.1 parsing and serialization. The parser consumes bytes as they arrive and reports whether a request is
// complete, needs more, or is invalid. Every length has a limit, which bounds the memory a client can use.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::serve {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;  // names in lower case

struct HttpRequest {
  std::string method, target, path;  // path: the target without its query, percent signs decoded
  HttpHeaders query, headers;
  std::string body;
  bool keep_alive = true;
  const std::string* header(std::string_view lower_case_name) const;
  const std::string* parameter(std::string_view name) const;  // of the query; the first of this name, or null
};

struct HttpLimits {
  size_t line = 8 << 10, header_bytes = 32 << 10, headers = 100, body = 32 << 20;
};

class HttpParser {
 public:
  enum class State { more, whole, bad };
  explicit HttpParser(HttpLimits limits) : limits_(limits) {}
  State feed(std::string_view bytes);  // what follows a whole request is kept for the next
  State state() const { return state_; }
  bool idle() const { return state_ == State::more && phase_ == Phase::head && buffer_.empty(); }
  bool in_body() const { return state_ == State::more && phase_ != Phase::head; }
  bool wants_continue();                  // once, when the client waits for "100 Continue" before its body
  HttpRequest take();                     // the whole request; then the next begins with what was left over
  int status() const { return status_; }  // of State::bad: what to answer
  const std::string& complaint() const { return complaint_; }

 private:
  enum class Phase { head, body, chunk_size, chunk, chunk_end, trailer };
  State advance();
  State read(std::string_view& rest);  // takes what it understands from the front of the buffer
  bool head(std::string_view text);
  State refuse(int status, std::string complaint);
  HttpLimits limits_;
  State state_ = State::more;
  Phase phase_ = Phase::head;
  std::string buffer_, complaint_;
  HttpRequest request_;
  size_t wanted_ = 0;  // of the body or chunk, bytes still to come
  bool expects_ = false;
  int status_ = 400;
};

std::string_view http_reason(int status);
enum class KeepAlive : bool { no, yes };
// Status line and headers, with a blank line behind. length < 0: chunked.
std::string http_head(int status, const HttpHeaders& headers, int64_t length, KeepAlive keep_alive);
std::string http_chunk(std::string_view data);  // empty data ends the body

}  // namespace quern::serve
