// Any bytes as a web page: its main text is valid UTF-8 and not much longer than the page.
#include <cstdint>

#include "quern/base/error.h"
#include "quern/text/html/encoding.h"
#include "quern/text/html/main_text.h"
#include "quern/text/unicode/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quern::text;
  std::string buffer;
  const DecodedPage page = decode_page({reinterpret_cast<const char*>(data), size}, {}, buffer);
  const MainText m = main_text(page.text);
  QUERN_CHECK(utf8_error(m.text) == std::string::npos && utf8_error(m.title) == std::string::npos);
  // Lists may be nested to HtmlTree::kMaxDepth, each item with as many blanks before it.
  QUERN_CHECK(m.text.size() <= 600 * (page.text.size() + 1));
  return 0;
}
