#include "quern/rl/repetition.h"

#include <algorithm>

#include "quern/corpus/bytes/deflate.h"

namespace quern::rl {
namespace {

constexpr size_t kSpan = 256;
// A smaller window or a faster level misses loops of more than some twenty tokens.
constexpr int kWindowBits = 12, kLevel = 6;
constexpr int64_t kFlushBytes = 5;  // an empty block marks every flush

}  // namespace

double min_compression(std::span<const int32_t> tokens) {
  double lowest = 1;
  corpus::Deflater z(kWindowBits, kLevel);
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
