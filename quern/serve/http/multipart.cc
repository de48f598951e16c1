// A boundary line, headers, an empty line and the content, which ends before the next boundary line.
#include "quern/serve/http/multipart.h"

#include <algorithm>
#include <cctype>

#include "quern/base/error.h"

namespace quern::serve {
namespace {

constexpr size_t kMaxParts = 64, kMaxHeaders = 8192;

std::string lower_case(std::string_view s) {
  std::string out(s);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// The value of ; name=value or ; name="value" in a header.
std::optional<std::string> header_parameter(std::string_view header, std::string_view name) {
  for (size_t at = header.find(';'); at != header.npos;) {
    size_t from = at + 1;
    while (from < header.size() && (header[from] == ' ' || header[from] == '\t')) ++from;
    const size_t equals = header.find('=', from);
    if (equals == header.npos) return std::nullopt;
    const bool wanted = lower_case(header.substr(from, equals - from)) == name;
    std::string value;
    size_t end = equals + 1;
    if (end < header.size() && header[end] == '"') {
      for (++end; end < header.size() && header[end] != '"'; ++end) {
        if (header[end] == '\\' && end + 1 < header.size() && (header[end + 1] == '"' || header[end + 1] == '\\'))
          ++end;
        value += header[end];
      }
    } else {
      while (end < header.size() && header[end] != ';') value += header[end++];
      while (value.ends_with(' ') || value.ends_with('\t')) value.pop_back();
    }
    if (wanted) return value;
    at = header.find(';', end);
  }
  return std::nullopt;
}

FormPart read_part(std::string_view headers, std::string_view content) {
  FormPart part{.name = {}, .filename = {}, .content = std::string(content)};
  bool named = false;
  while (!headers.empty()) {
    const size_t end = std::min(headers.find("\r\n"), headers.size());
    const std::string_view line = headers.substr(0, end);
    headers.remove_prefix(std::min(end + 2, headers.size()));
    const size_t colon = line.find(':');
    if (colon == line.npos) fail("multipart: a header of a part is not NAME: VALUE");
    if (lower_case(line.substr(0, colon)) != "content-disposition") continue;
    const auto name = header_parameter(line, "name"), file = header_parameter(line, "filename");
    if (name) part.name = *name, named = true;
    if (file) part.filename = *file;
  }
  if (!named) fail("multipart: a part has no name in its Content-Disposition");
  return part;
}

}  // namespace

std::optional<std::string> form_boundary(std::string_view content_type) {
  const size_t end = std::min(content_type.find(';'), content_type.size());
  std::string type = lower_case(content_type.substr(0, end));
  while (type.ends_with(' ')) type.pop_back();
  if (type != "multipart/form-data") return std::nullopt;
  auto boundary = header_parameter(content_type, "boundary");
  if (!boundary || boundary->empty() || boundary->size() > 70) return std::nullopt;  // RFC 2046's longest
  return boundary;
}

std::vector<FormPart> parse_form(std::string_view body, std::string_view boundary) {
  const std::string line = "\r\n--" + std::string(boundary);
  std::vector<FormPart> parts;
  // The first boundary may stand at the very beginning.
  const std::string_view first = std::string_view(line).substr(2);
  size_t at = body.starts_with(first) ? first.size() : body.find(line);
  if (at == body.npos) fail("multipart: the boundary of the header is not in the body");
  if (!body.starts_with(first)) at += line.size();
  for (;;) {
    if (body.substr(at).starts_with("--")) return parts;
    if (!body.substr(at).starts_with("\r\n")) fail("multipart: a boundary is not followed by a line end");
    at += 2;
    if (parts.size() == kMaxParts) fail("multipart: more than {} parts", kMaxParts);
    const bool bare = body.substr(at).starts_with("\r\n");  // no headers
    const size_t blank = bare ? at : body.find("\r\n\r\n", at);
    if (blank == body.npos || blank - at > kMaxHeaders) fail("multipart: the headers of a part do not end");
    const size_t content = bare ? at + 2 : blank + 4;
    const size_t end = body.find(line, bare ? at : blank + 2);
    if (end == body.npos) fail("multipart: the last part does not end with the boundary");
    parts.push_back(read_part(body.substr(at, blank - at), end < content ? "" : body.substr(content, end - content)));
    at = end + line.size();
  }
}

}  // namespace quern::serve
