// Scan of sums without vectors: the definition, and dispatch.
#include <algorithm>

#include "quern/base/cpu.h"
#include "quern/recall/graph/gram_scan.h"

namespace quern::recall {

size_t gram_scan_ref(std::span<float> sums, size_t live, float threshold, uint32_t base, GramNeighbor* out) {
  size_t n = 0;
  for (size_t i = 0; i < live; ++i)
    if (sums[i] >= threshold) out[n++] = {base + static_cast<uint32_t>(i), sums[i]};
  std::fill(sums.begin(), sums.end(), 0.f);
  return n;
}

GramScan gram_scan() {
  switch (active_isa()) {
    case Isa::avx512:
      return gram_scan_avx512;
    case Isa::avx2:
      return gram_scan_avx2;
    case Isa::ref:
      break;
  }
  return gram_scan_ref;
}

}  // namespace quern::recall
