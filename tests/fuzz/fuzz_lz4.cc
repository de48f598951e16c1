// Any bytes as LZ4, a block or Hadoop's pieces: as many bytes as were asked for, or an Error. The first three bytes
// say how many.
#include <cstdint>
#include <string>

#include "quern/base/error.h"
#include "quern/corpus/bytes/lz4.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quern::corpus;
  if (size < 3) return 0;
  const size_t wanted = data[0] | static_cast<size_t>(data[1]) << 8 | static_cast<size_t>(data[2] & 3) << 16;
  const std::string_view packed(reinterpret_cast<const char*>(data) + 3, size - 3);
  for (const auto unpack : {decompress_lz4, decompress_lz4_sized}) {
    std::string out;
    try {
      unpack(packed, wanted, out);
      QUERN_CHECK(out.size() == wanted, "{} bytes for {}", out.size(), wanted);
    } catch (const quern::Error&) {
    }
  }
  return 0;
}
