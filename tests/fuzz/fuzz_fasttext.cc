// Any bytes as a fastText model: a model that answers, or an Error.
#include <cstdint>
#include <string>

#include "quern/base/error.h"
#include "quern/corpus/filters/fasttext.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto model = quern::corpus::FastText::from_bytes({reinterpret_cast<const char*>(data), size}, "model");
    model.predict("some words, \xE6\xB0\xB4");
  } catch (const quern::Error&) {
  }
  return 0;
}
