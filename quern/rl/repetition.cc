#include "quern/rl/repetition.h"

#include <zlib.h>

#include <algorithm>

#include "quern/base/error.h"

namespace quern::rl {
namespace {

constexpr size_t kSpan = 256;
// A smaller window or a faster level misses loops of more than some twenty tokens.
constexpr int kWindowBits = -12, kLevel = 6, kMemory = 8;
constexpr int64_t kFlushBytes = 5;  // an empty block marks every flush

class Deflater {
 public:
  Deflater() {
    if (deflateInit2(&z_, kLevel, Z_DEFLATED, kWindowBits, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
      fail("zlib cannot begin to compress");
  }
  ~Deflater() { deflateEnd(&z_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  int64_t compressed(std::span<const unsigned char> bytes) {  // bytes that come out
    unsigned char out[4096];
    int64_t n = 0;
    z_.next_in = const_cast<unsigned char*>(bytes.data()), z_.avail_in = static_cast<uInt>(bytes.size());
    do {
      z_.next_out = out, z_.avail_out = sizeof out;
      deflate(&z_, Z_SYNC_FLUSH);
      n += static_cast<int64_t>(sizeof out - z_.avail_out);
    } while (z_.avail_out == 0);
    return n;
  }

 private:
  z_stream z_ = {};
};

}  // namespace

double min_compression(std::span<const int32_t> tokens) {
  double lowest = 1;
  Deflater z;
  for (size_t from = 0; from + kSpan <= tokens.size();) {
    // The last, short stretch belongs to the one before.
    const size_t left = tokens.size() - from, n = left < 2 * kSpan ? left : kSpan;
    std::vector<unsigned char> bytes;
    bytes.reserve(4 * n);
    for (int32_t t : tokens.subspan(from, n))
      for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<unsigned char>(t >> shift & 0xff));
    const auto out = static_cast<double>(std::max<int64_t>(0, z.compressed(bytes) - kFlushBytes));
    lowest = std::min(lowest, out / static_cast<double>(bytes.size()));
    from += n;
  }
  return lowest;
}

}  // namespace quern::rl
