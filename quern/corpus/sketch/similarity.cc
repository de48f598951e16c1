#include "quern/corpus/sketch/similarity.h"

#include <algorithm>
#include <bit>

#include "quern/base/cpu.h"
#include "quern/corpus/sketch/similarity_merge.h"

namespace quern::corpus {
namespace {

constexpr size_t kCheckEvery = 128;
constexpr uint32_t kFewInABucket = 16;

uint64_t intersection_at_least(std::span<const uint64_t> a, std::span<const uint64_t> b, uint64_t minimum) {
  return active_isa() == Isa::avx512 ? intersection_avx512(a, b, minimum) : intersection_ref(a, b, minimum);
}

}  // namespace

uint64_t intersection_ref(std::span<const uint64_t> a, std::span<const uint64_t> b, uint64_t minimum) {
  size_t i = 0, j = 0;
  uint64_t common = 0;
  while (i < a.size() && j < b.size()) {
    if (common + std::min(a.size() - i, b.size() - j) < minimum) return UINT64_MAX;
    const size_t steps = std::min({kCheckEvery, a.size() - i, b.size() - j});
    for (size_t s = 0; s < steps; ++s) {  // no step can run past either end: each moves by one
      const uint64_t x = a[i], y = b[j];
      common += x == y;
      i += x <= y;
      j += y <= x;
    }
  }
  return common < minimum ? UINT64_MAX : common;
}

uint64_t intersection_size(std::span<const uint64_t> a, std::span<const uint64_t> b) {
  return intersection_at_least(a, b, 0);
}

double jaccard(std::span<const uint64_t> a, std::span<const uint64_t> b) {
  if (a.empty() && b.empty()) return 0;
  const uint64_t c = intersection_size(a, b);
  return static_cast<double>(c) / static_cast<double>(a.size() + b.size() - c);
}

double jaccard_at_least(std::span<const uint64_t> a, std::span<const uint64_t> b, double threshold) {
  const double both = static_cast<double>(a.size() + b.size());
  // One less than t / (1 + t) of both sizes: rounding must not lose a pair; the quotient below decides.
  const double need = threshold / (1 + threshold) * both - 1;
  const uint64_t c = intersection_at_least(a, b, need > 0 ? static_cast<uint64_t>(need) : 0);
  if (c == UINT64_MAX || both == 0) return -1;
  const double j = static_cast<double>(c) / (both - static_cast<double>(c));
  return j >= threshold ? j : -1;
}

double containment_at_least(std::span<const uint64_t> a, std::span<const uint64_t> b, double threshold) {
  const auto smaller = static_cast<double>(std::min(a.size(), b.size()));
  if (smaller == 0) return -1;
  const double need = threshold * smaller - 1;
  const uint64_t c = intersection_at_least(a, b, need > 0 ? static_cast<uint64_t>(need) : 0);
  if (c == UINT64_MAX) return -1;
  const double share = static_cast<double>(c) / smaller;
  return share >= threshold ? share : -1;
}

double row_agreement(std::span<const uint32_t> a, std::span<const uint32_t> b) {
  size_t same = 0;
  for (size_t i = 0; i < a.size(); ++i) same += a[i] == b[i];
  return a.empty() ? 0 : static_cast<double>(same) / static_cast<double>(a.size());
}

void sort_unique(std::vector<uint64_t>& hashes, std::vector<uint64_t>& scratch) {
  const size_t n = hashes.size();
  if (n > 64 && n < (size_t{1} << 31)) {
    // One pass into more buckets than there are hashes, by the upper bits, leaves nearly every one in its place.
    const int shift = 64 - std::bit_width(n);
    std::vector<uint32_t> at((size_t{1} << (64 - shift)) + 1);
    for (uint64_t h : hashes) ++at[(h >> shift) + 1];
    uint32_t maximum = 0, end = 0;
    for (uint32_t& count : at) maximum = std::max(maximum, count), count = end += count;
    scratch.resize(n);
    for (uint64_t h : hashes) scratch[at[h >> shift]++] = h;
    if (maximum > kFewInABucket) {  // the same hash over and over; at[bucket] is now the bucket's end
      uint32_t begin = 0;
      for (size_t bucket = 0; bucket + 1 < at.size(); begin = at[bucket++])
        if (at[bucket] - begin > kFewInABucket) std::sort(&scratch[begin], &scratch[0] + at[bucket]);
    }
    for (size_t i = 1; i < n; ++i) {
      const uint64_t h = scratch[i];
      size_t k = i;
      for (; k > 0 && scratch[k - 1] > h; --k) scratch[k] = scratch[k - 1];
      scratch[k] = h;
    }
    hashes.swap(scratch);
  } else {
    std::sort(hashes.begin(), hashes.end());
  }
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
}

}  // namespace quern::corpus
