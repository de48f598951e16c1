#include "quern/corpus/io/warc_record.h"

#include <charconv>

#include "quern/corpus/io/http_body.h"

namespace quern::corpus {

WarcHead read_warc_head(std::string_view head) {
  WarcHead r;
  if (!head.starts_with("WARC/")) {
    r.problem = "expected a WARC record";
    return r;
  }
  const std::string_view length = header_field(head, "Content-Length");
  const char* end = length.data() + length.size();
  if (const auto [at, error] = std::from_chars(length.data(), end, r.length); error != std::errc{} || at != end) {
    r.problem = "a WARC record without a Content-Length";
    return r;
  }
  const std::string_view kind = header_field(head, "WARC-Type");
  r.kind = kind == "conversion" ? WarcKind::text
           : kind == "response" ? WarcKind::response
           : kind == "resource" ? WarcKind::resource
                                : WarcKind::other;
  r.url = header_field(head, "WARC-Target-URI");
  if (r.url.starts_with('<') && r.url.ends_with('>'))
    r.url = r.url.substr(1, r.url.size() - 2);  // as WARC 1.0 has it
  r.date = header_field(head, "WARC-Date");
  r.type = header_field(head, "Content-Type");
  r.truncated = !header_field(head, "WARC-Truncated").empty();
  return r;
}

}  // namespace quern::corpus
