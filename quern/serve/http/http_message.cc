// Parses and writes HTTP/1.1.
#include "quern/serve/http/http_message.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include <fmt/format.h>

namespace quern::serve {
namespace {

std::string lower(std::string_view s) {
  std::string out(s);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

bool is_token(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

std::optional<std::string> percent_decoded(std::string_view s, bool plus_is_space) {
  std::string out;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '+' && plus_is_space) {
      out += ' ';
    } else if (s[i] == '%') {
      if (i + 2 >= s.size() || hex_digit(s[i + 1]) < 0 || hex_digit(s[i + 2]) < 0) return std::nullopt;
      out += static_cast<char>(hex_digit(s[i + 1]) * 16 + hex_digit(s[i + 2]));
      i += 2;
    } else {
      out += s[i];
    }
  }
  return out;
}

// Line ends within a line, and other control characters: a proxy may read them otherwise, and a header that is sent back
// would become two.
bool has_controls(std::string_view s) {
  return std::ranges::any_of(s, [](unsigned char c) { return (c < ' ' && c != '\t') || c == 127; });
}

// Where c stands first, or the end.
size_t index_of(std::string_view s, char c) {
  return static_cast<size_t>(std::find(s.begin(), s.end(), c) - s.begin());
}

std::optional<size_t> read_size(std::string_view s, int base) {
  if (s.empty() || s.size() > 15) return std::nullopt;
  size_t v = 0;
  for (char c : s) {
    const int d = hex_digit(c);
    if (d < 0 || d >= base) return std::nullopt;
    v = v * static_cast<size_t>(base) + static_cast<size_t>(d);
  }
  return v;
}

}  // namespace

const std::string* HttpRequest::parameter(std::string_view name) const {
  for (const auto& [key, value] : query)
    if (key == name) return &value;
  return nullptr;
}

const std::string* HttpRequest::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return &value;
  return nullptr;
}

HttpParser::State HttpParser::refuse(int status, std::string complaint) {
  status_ = status, complaint_ = std::move(complaint), buffer_.clear();
  return state_ = State::bad;
}

HttpParser::State HttpParser::feed(std::string_view bytes) {
  if (state_ == State::bad) return state_;
  buffer_ += bytes;
  return state_ == State::whole ? state_ : advance();
}

HttpRequest HttpParser::take() {
  HttpRequest r = std::move(request_);
  request_ = {}, phase_ = Phase::head, wanted_ = 0, expects_ = false;
  state_ = State::more;
  if (!buffer_.empty()) advance();
  return r;
}

bool HttpParser::wants_continue() {
  return state_ == State::more && phase_ != Phase::head && std::exchange(expects_, false);
}

// Many small chunks in one piece of the input: the buffer is moved once, not for each of them.
HttpParser::State HttpParser::advance() {
  std::string_view rest = buffer_;
  read(rest);
  if (!buffer_.empty()) buffer_.erase(0, buffer_.size() - rest.size());  // refused: it is empty already
  return state_;
}

HttpParser::State HttpParser::read(std::string_view& rest) {
  for (;;) {
    switch (phase_) {
      case Phase::head: {
        while (rest.starts_with("\r\n")) rest.remove_prefix(2);  // tolerated between requests
        const size_t end = rest.find("\r\n\r\n");
        if (end == rest.npos) {
          if (rest.size() > limits_.header_bytes) return refuse(431, "the headers are too long");
          if (rest.find('\n') == rest.npos && rest.size() > limits_.line)
            return refuse(414, "the request line is too long");
          return State::more;
        }
        if (end > limits_.header_bytes) return refuse(431, "the headers are too long");
        if (!head(rest.substr(0, end + 2))) return state_;
        rest.remove_prefix(end + 4);
        break;
      }
      case Phase::body:
      case Phase::chunk: {
        const size_t n = std::min(wanted_, rest.size());
        request_.body.append(rest.substr(0, n));
        rest.remove_prefix(n), wanted_ -= n;
        if (wanted_ > 0) return State::more;
        if (phase_ == Phase::body) return state_ = State::whole;
        phase_ = Phase::chunk_end;
        break;
      }
      case Phase::chunk_end:
        if (rest.size() < 2) return State::more;
        if (!rest.starts_with("\r\n")) return refuse(400, "a chunk of the body is longer than its size");
        rest.remove_prefix(2), phase_ = Phase::chunk_size;
        break;
      case Phase::chunk_size: {
        const size_t end = rest.find("\r\n");
        if (end == rest.npos) return rest.size() > 256 ? refuse(400, "a chunk size without an end") : State::more;
        const std::string_view line = rest.substr(0, end);
        const auto size = read_size(trimmed(line.substr(0, line.find(';'))), 16);
        if (!size) return refuse(400, "a chunk size is not a number");
        if (*size > limits_.body || request_.body.size() + *size > limits_.body)
          return refuse(413, fmt::format("the body is longer than {} bytes", limits_.body));
        rest.remove_prefix(end + 2), wanted_ = *size, phase_ = *size == 0 ? Phase::trailer : Phase::chunk;
        break;
      }
      case Phase::trailer: {
        const size_t end = rest.find("\r\n");
        if (end == rest.npos) return rest.size() > limits_.line ? refuse(431, "a trailer is too long") : State::more;
        rest.remove_prefix(end + 2);
        if (end == 0) return state_ = State::whole;
        break;
      }
    }
  }
}

bool HttpParser::head(std::string_view text) {
  auto bad = [&](int status, std::string complaint) { return refuse(status, std::move(complaint)), false; };
  const size_t line_end = std::min(text.find("\r\n"), text.size() - 2);  // text ends with one
  const std::string_view line = text.substr(0, line_end);
  if (line.size() > limits_.line) return bad(414, "the request line is too long");
  if (has_controls(line)) return bad(400, "the request line has a control character");
  const size_t a = line.find(' '), b = line.rfind(' ');
  if (a == line.npos || b == a || !is_token(line.substr(0, a)))
    return bad(400, "the request line is not METHOD TARGET VERSION");
  const std::string_view version = line.substr(b + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return bad(505, "expected HTTP/1.1");
  request_.method = line.substr(0, a), request_.target = line.substr(a + 1, b - a - 1);
  std::string_view path = request_.target;
  const size_t question = path.find('?');
  if (question != path.npos) {
    std::string_view rest = path.substr(question + 1);
    for (path = path.substr(0, question); !rest.empty();) {
      const size_t amp = index_of(rest, '&');
      const std::string_view pair = rest.substr(0, amp);
      const size_t equals = index_of(pair, '=');
      const auto key = percent_decoded(pair.substr(0, equals), true),
                 value = percent_decoded(equals < pair.size() ? pair.substr(equals + 1) : std::string_view(), true);
      if (!key || !value) return bad(400, "a percent sign in the query is not followed by two hex digits");
      request_.query.emplace_back(*key, *value);
      rest.remove_prefix(std::min(amp + 1, rest.size()));
    }
  }
  const auto decoded = percent_decoded(path, false);
  if (!decoded || !path.starts_with('/')) return bad(400, "the target is not a path");
  request_.path = *decoded;
  request_.keep_alive = version == "HTTP/1.1";
  bool chunked = false, has_length = false;
  for (std::string_view rest = text.substr(line_end + 2); !rest.empty();) {
    const size_t end = std::min(rest.find("\r\n"), rest.size());
    const std::string_view header = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 2, rest.size()));
    if (has_controls(header)) return bad(400, "a header has a control character");
    const size_t colon = index_of(header, ':');
    if (colon == header.size() || !is_token(header.substr(0, colon))) return bad(400, "a header is not NAME: VALUE");
    if (request_.headers.size() >= limits_.headers)
      return bad(431, fmt::format("more than {} headers", limits_.headers));
    std::string name = lower(header.substr(0, colon)), value(trimmed(header.substr(colon + 1)));
    if (name == "content-length") {
      const auto length = read_size(value, 10);
      if (!length || (has_length && *length != wanted_)) return bad(400, "Content-Length is not a number");
      if (*length > limits_.body) return bad(413, fmt::format("the body is longer than {} bytes", limits_.body));
      wanted_ = *length, has_length = true;
    } else if (name == "transfer-encoding") {
      if (lower(value) != "chunked") return bad(501, "Transfer-Encoding: expected chunked");
      chunked = true;
    } else if (name == "connection") {
      const std::string v = lower(value);
      if (v.find("close") != v.npos) request_.keep_alive = false;
      if (v.find("keep-alive") != v.npos) request_.keep_alive = true;
    } else if (name == "expect") {
      expects_ = lower(value) == "100-continue";
    }
    request_.headers.emplace_back(std::move(name), std::move(value));
  }
  if (chunked && has_length) return bad(400, "Content-Length and Transfer-Encoding together");
  phase_ = chunked ? Phase::chunk_size : Phase::body;
  return true;
}

std::string_view http_reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    case 507:
      return "Insufficient Storage";
    default:
      return "Status";
  }
}

std::string http_head(int status, const HttpHeaders& headers, int64_t length, KeepAlive keep_alive) {
  std::string s = fmt::format("HTTP/1.1 {} {}\r\n", status, http_reason(status));
  for (const auto& [name, value] : headers) s += fmt::format("{}: {}\r\n", name, value);
  if (length < 0)
    s += "transfer-encoding: chunked\r\n";
  else if (status != 204 && status != 304)
    s += fmt::format("content-length: {}\r\n", length);
  s += keep_alive == KeepAlive::yes ? "connection: keep-alive\r\n\r\n" : "connection: close\r\n\r\n";
  return s;
}

std::string http_chunk(std::string_view data) { return fmt::format("{:x}\r\n{}\r\n", data.size(), data); }

}  // namespace quern::serve
