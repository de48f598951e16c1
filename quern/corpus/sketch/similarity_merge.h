// Size of the intersection of two sorted sets, by instruction set: ref takes one merge step per element, avx512
// compares eight elements with eight and advances the block with the smaller end.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace quern::corpus {

// The intersection's size, or UINT64_MAX once it can no longer reach `least`. No repeats in either set.
uint64_t intersection_ref(std::span<const uint64_t> a, std::span<const uint64_t> b, uint64_t minimum);
uint64_t intersection_avx512(std::span<const uint64_t> a, std::span<const uint64_t> b, uint64_t minimum);

}  // namespace quern::corpus
