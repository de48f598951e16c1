// An HTTP response as WARC files keep it: its status, its type and its body as a browser would get it, put together from
// chunks and decompressed (gzip, deflate, br). What is stored already unpacked under a header that says otherwise, as
// some crawlers do, is taken as it is. Of a body that is cut short or damaged, what comes before stays.
#pragma once
#include <string>
#include <string_view>

namespace quern::corpus {

enum class BodyState { whole, cut, damaged, unknown_coding, too_long };

struct HttpResponse {
  int status = 0;         // 0: this is no HTTP response
  std::string_view type;  // "text/html; charset=utf-8"; may be empty
  std::string_view body;  // a view of the message or of the buffer
  BodyState state = BodyState::whole;
};

// `maximum`: bytes that a decompressed body may have.
HttpResponse read_http_response(std::string_view message, size_t maximum, std::string& buffer);

// The value of a header line, of HTTP or WARC, or nothing. Lines end with \n, with or without \r before it.
std::string_view header_field(std::string_view head, std::string_view name);
// "text/html; charset=utf-8" → "text/html"; "unknown" when it is no type.
std::string media_type(std::string_view content_type);

}  // namespace quern::corpus
