#include "quern/corpus/io/http_body.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "quern/corpus/bytes/ascii.h"
#include "quern/corpus/bytes/brotli.h"
#include "quern/corpus/bytes/deflate.h"

namespace quern::corpus {
namespace {

std::string_view trimmed(std::string_view s) {
  const size_t begin = s.find_first_not_of(" \t\r\n");
  return begin == s.npos ? std::string_view() : s.substr(begin, s.find_last_not_of(" \t\r\n") - begin + 1);
}

// Where the head ends and the body begins; all of it is head when there is no blank line.
std::pair<size_t, size_t> head_end(std::string_view m) {
  for (size_t at = m.find('\n'); at != m.npos; at = m.find('\n', at + 1)) {
    const std::string_view rest = m.substr(at + 1);
    if (rest.starts_with("\r\n")) return {at, at + 3};
    if (rest.starts_with("\n")) return {at, at + 2};
  }
  return {m.size(), m.size()};
}

// False when the chunks are cut short or are none; `out` has what came before.
bool join_chunks(std::string_view body, std::string& out) {
  out.clear();
  while (true) {
    uint64_t n = 0;
    const auto [end, error] = std::from_chars(body.data(), body.data() + std::min<size_t>(body.size(), 16), n, 16);
    if (error != std::errc{}) return false;
    const size_t line = body.find('\n', static_cast<size_t>(end - body.data()));
    if (line == body.npos) return false;
    if (n == 0) return true;
    body.remove_prefix(line + 1);
    out += body.substr(0, n);
    if (body.size() <= n) return false;
    body.remove_prefix(n);
    body.remove_prefix(body.starts_with("\r\n") ? 2 : body.starts_with("\n") ? 1 : 0);
  }
}

// Already unpacked: no compressed data begins like this.
bool is_markup(std::string_view body) {
  body = body.substr(0, 64);
  body = body.starts_with("\xEF\xBB\xBF") ? body.substr(3) : body;
  return trimmed(body).starts_with('<');
}

BodyState unpack(std::string_view coding, std::string_view body, size_t maximum, std::string& out) {
  std::optional<Unpacked> u;
  if (same_ascii_word(coding, "gzip") || same_ascii_word(coding, "x-gzip") || same_ascii_word(coding, "deflate"))
    u = inflate_some(body, maximum, out);
  if (same_ascii_word(coding, "br")) u = decompress_some_brotli(body, maximum, out);
  if (!u) return BodyState::unknown_coding;
  switch (*u) {
    case Unpacked::whole:
      return BodyState::whole;
    case Unpacked::cut:
      return BodyState::cut;
    case Unpacked::damaged:
      return BodyState::damaged;
    case Unpacked::too_long:
      return BodyState::too_long;
  }
  return BodyState::damaged;
}

}  // namespace

std::string_view header_field(std::string_view head, std::string_view name) {
  for (size_t at = 0; at < head.size();) {
    const size_t end = std::min(head.find('\n', at), head.size());
    const std::string_view line = head.substr(at, end - at);
    const size_t colon = line.find(':');
    if (colon != line.npos && same_ascii_word(trimmed(line.substr(0, colon)), name))
      return trimmed(line.substr(colon + 1));
    at = end + 1;
  }
  return {};
}

HttpResponse read_http_response(std::string_view message, size_t maximum, std::string& buffer) {
  HttpResponse r;
  if (!message.starts_with("HTTP/")) return r;
  const auto [head_size, body_at] = head_end(message);
  const std::string_view head = message.substr(0, head_size);
  const size_t space = std::min(head.find(' '), head.size() - 1);
  std::from_chars(head.data() + space + 1, head.data() + head.size(), r.status);
  r.type = header_field(head, "content-type");
  r.body = message.substr(body_at);
  if (same_ascii_word(header_field(head, "transfer-encoding"), "chunked")) {
    std::string joined;
    const bool whole = join_chunks(r.body, joined);
    if (whole || !joined.empty()) {
      buffer = std::move(joined);
      r.body = buffer;
      if (!whole) r.state = BodyState::cut;
    }
  }
  // The last coding was put on last.
  for (std::string_view codings = header_field(head, "content-encoding"); !codings.empty();) {
    const size_t comma = codings.rfind(',');
    const std::string_view coding = trimmed(comma == codings.npos ? codings : codings.substr(comma + 1));
    codings = comma == codings.npos ? std::string_view() : codings.substr(0, comma);
    if (coding.empty() || same_ascii_word(coding, "identity") || is_markup(r.body)) continue;
    std::string unpacked;
    const BodyState state = unpack(coding, r.body, maximum, unpacked);
    buffer = std::move(unpacked);
    r.body = buffer;
    if (state != BodyState::whole) r.state = state;
    if (state == BodyState::unknown_coding) break;
  }
  return r;
}

std::string media_type(std::string_view content_type) {
  constexpr size_t kLongest = 60;
  std::string out;
  for (const char c : trimmed(content_type.substr(0, content_type.find(';')))) {
    const bool sound = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
                       c == '-' || c == '+' || c == '.' || c == '_';
    if (!sound || out.size() == kLongest) return "unknown";
    out += ascii_lower(c);
  }
  return out.find('/') == out.npos ? "unknown" : out;
}

}  // namespace quern::corpus
