#include "quern/corpus/bytes/snappy.h"

#include <snappy.h>

#include "quern/base/error.h"

namespace quern::corpus {

void decompress_snappy(std::string_view in, size_t maximum, std::string& out) {
  constexpr size_t kMaxRatio = 22;  // the best tag is a copy of 64 bytes in three
  size_t length = 0;
  if (!snappy::GetUncompressedLength(in.data(), in.size(), &length))
    fail("damaged snappy data: no length of at most 32 bits at its beginning");
  if (length > maximum) fail("damaged snappy data: {} bytes decompressed, expected at most {}", length, maximum);
  if (length > in.size() * kMaxRatio) fail("damaged snappy data: {} bytes cannot hold {}", in.size(), length);
  out.resize(length);
  if (!snappy::RawUncompress(in.data(), in.size(), out.data()))
    fail("damaged snappy data: its {} bytes do not decompress to {}", in.size(), length);
}

}  // namespace quern::corpus
