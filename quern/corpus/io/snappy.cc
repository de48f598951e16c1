#include "quern/corpus/io/snappy.h"

#include <cstdint>

#include "quern/base/error.h"

namespace quern::corpus {

void decompress_snappy(std::string_view in, size_t maximum, std::string& out) {
  size_t at = 0;
  const auto byte = [&] {
    if (at >= in.size()) fail("damaged snappy data: it ends early");
    return static_cast<unsigned char>(in[at++]);
  };
  const auto little = [&](int n) {
    uint32_t v = 0;
    for (int i = 0; i < n; ++i) v |= static_cast<uint32_t>(byte()) << (8 * i);
    return v;
  };
  uint64_t length = 0;
  for (int shift = 0;; shift += 7) {
    const unsigned char b = byte();
    if (shift > 28) fail("damaged snappy data: a length beyond 32 bits");
    length |= static_cast<uint64_t>(b & 0x7F) << shift;
    if (!(b & 0x80)) break;
  }
  if (length > maximum) fail("damaged snappy data: {} bytes unpacked, expected at most {}", length, maximum);
  out.clear();
  out.reserve(length);
  while (at < in.size()) {
    const unsigned char tag = byte();
    size_t n = 0, back = 0;
    switch (tag & 3) {
      case 0:
        n = tag >> 2;
        if (n >= 60) n = little(static_cast<int>(n) - 59);
        ++n;
        if (n > in.size() - at) fail("damaged snappy data: a literal longer than the rest");
        out.append(in, at, n);
        at += n;
        if (out.size() > length) fail("damaged snappy data: more than {} bytes", length);
        continue;
      case 1:
        n = 4 + ((tag >> 2) & 7);
        back = static_cast<size_t>(tag >> 5) << 8 | byte();
        break;
      case 2:
        n = 1 + (tag >> 2), back = little(2);
        break;
      default:
        n = 1 + (tag >> 2), back = little(4);
        break;
    }
    if (back == 0 || back > out.size())
      fail("damaged snappy data: a copy from {} bytes back, of {}", back, out.size());
    if (n > length - out.size()) fail("damaged snappy data: more than {} bytes", length);
    for (size_t i = 0; i < n; ++i) out.push_back(out[out.size() - back]);
  }
  if (out.size() != length) fail("damaged snappy data: {} bytes, expected {}", out.size(), length);
}

}  // namespace quern::corpus
