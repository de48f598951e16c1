// Any bytes as a form: parts or an Error; parts lie within the body.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "quern/base/error.h"
#include "quern/serve/http/multipart.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t line = std::min(bytes.find('\n'), size);
  const auto boundary = quern::serve::form_boundary(bytes.substr(0, line));
  try {
    size_t content = 0;
    for (const auto& part : quern::serve::parse_form(bytes.substr(std::min(line + 1, size)), boundary.value_or("X")))
      content += part.content.size();
    if (content > size) std::abort();
  } catch (const quern::Error&) {
  }
  return 0;
}
