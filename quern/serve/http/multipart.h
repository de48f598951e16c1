// The parts of a multipart/form-data body (RFC 7578): a form's fields and files.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::serve {

struct FormPart {
  std::string name, filename, content;  // filename: empty where the part is no file
};

// Of a content-type header; nothing where it is another type, or has no boundary.
std::optional<std::string> form_boundary(std::string_view content_type);
// Throws Error saying what is wrong with the body; at most 64 parts.
std::vector<FormPart> parse_form(std::string_view body, std::string_view boundary);

}  // namespace quern::serve
