// Any bytes as tokenizer.json: refused with an Error, or a tokenizer whose text survives encoding and decoding.
#include <cstdint>

#include "quern/base/error.h"
#include "quern/text/tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    quern::text::Tokenizer t = quern::text::Tokenizer::from_json({reinterpret_cast<const char*>(data), size});
    t.decode(t.encode("A caf\xC3\xA9, 12 <s> \xF0\x9F\x90\x88"));
  } catch (const quern::Error&) {
  }
  return 0;
}
