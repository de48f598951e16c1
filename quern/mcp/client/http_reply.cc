// One state per part of a response.
#include "quern/mcp/client/http_reply.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "quern/base/error.h"

namespace quern::mcp {
namespace {

constexpr size_t kMaxHead = size_t{64} << 10, kMaxLine = 8 << 10;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

uint64_t number(std::string_view text, int base) {
  uint64_t n = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), n, base);
  if (fault != std::errc() || end != text.data() + text.size()) fail("an HTTP reply with a bad length");
  return n;
}

}  // namespace

const std::string* HttpReplyReader::header(std::string_view lower_case_name) const {
  for (const auto& [name, value] : headers_)
    if (name == lower_case_name) return &value;
  return nullptr;
}

void HttpReplyReader::read_head(std::string_view text) {
  const size_t first_end = text.find("\r\n");
  const std::string_view first = text.substr(0, first_end);
  if (!first.starts_with("HTTP/1.") || first.size() < 12 || first[8] != ' ') fail("the reply is not HTTP/1.1");
  status_ = static_cast<int>(number(first.substr(9, 3), 10));
  headers_.clear();
  for (size_t at = first_end; at != text.npos && at + 2 < text.size();) {
    const size_t end = std::min(text.find("\r\n", at + 2), text.size());
    const std::string_view one = text.substr(at + 2, end - at - 2);
    if (const size_t colon = one.find(':'); colon != one.npos)
      headers_.emplace_back(lower(one.substr(0, colon)), trimmed(one.substr(colon + 1)));
    at = end == text.size() ? text.npos : end;
  }
  if (status_ >= 100 && status_ < 200) return;  // "100 Continue": the head of the reply follows
  const std::string *length = header("content-length"), *coding = header("transfer-encoding");
  if (status_ == 204 || status_ == 304) {
    phase_ = Phase::done;
  } else if (coding && lower(*coding).find("chunked") != std::string::npos) {
    phase_ = Phase::chunk_size;
  } else if (length) {
    wanted_ = number(*length, 10);
    phase_ = wanted_ > 0 ? Phase::length : Phase::done;
  } else {
    phase_ = Phase::until_closed;
  }
}

bool HttpReplyReader::advance(std::string& body) {
  const auto take = [&](size_t n) {
    body.append(buffer_, 0, n);
    buffer_.erase(0, n);
  };
  switch (phase_) {
    case Phase::head: {
      const size_t end = buffer_.find("\r\n\r\n");
      if (std::min(end, buffer_.size()) > kMaxHead) fail("an HTTP reply with a head of more than {} bytes", kMaxHead);
      if (end == buffer_.npos) return false;
      const std::string head = buffer_.substr(0, end);
      buffer_.erase(0, end + 4);
      read_head(head);
      return true;
    }
    case Phase::length:
    case Phase::chunk: {
      if (buffer_.empty()) return false;
      const size_t n = static_cast<size_t>(std::min<uint64_t>(wanted_, buffer_.size()));
      take(n), wanted_ -= n;
      if (wanted_ == 0) phase_ = phase_ == Phase::length ? Phase::done : Phase::chunk_end;
      return true;
    }
    case Phase::chunk_size:
    case Phase::chunk_end:
    case Phase::trailer: {
      const size_t end = buffer_.find("\r\n");
      if (std::min(end, buffer_.size()) > kMaxLine) fail("an HTTP reply with a bad chunk");
      if (end == buffer_.npos) return false;
      const std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 2);
      if (phase_ == Phase::trailer) {
        if (line.empty()) phase_ = Phase::done;
      } else if (phase_ == Phase::chunk_end) {
        if (!line.empty()) fail("an HTTP reply with a bad chunk");
        phase_ = Phase::chunk_size;
      } else {
        wanted_ = number(trimmed(std::string_view(line).substr(0, line.find(';'))), 16);
        phase_ = wanted_ > 0 ? Phase::chunk : Phase::trailer;
      }
      return true;
    }
    case Phase::until_closed:
      if (buffer_.empty()) return false;
      take(buffer_.size());
      return true;
    case Phase::done:
      return false;
  }
  return false;
}

std::string HttpReplyReader::feed(std::string_view bytes) {
  buffer_ += bytes;
  std::string body;
  while (advance(body)) {
  }
  return body;
}

void HttpReplyReader::closed() {
  if (phase_ == Phase::until_closed) phase_ = Phase::done;
  if (phase_ != Phase::done) fail("the connection ended in the middle of a reply");
}

}  // namespace quern::mcp
