// Copies tensors into one contiguous block of memory. Tensors that are kept and dropped together are allocated
// together: dozens of small blocks would each be rounded up and leave holes that only blocks of the same size fill.
// The block is not taken from the size classes of arena.cc, which serve allocations that come and go in every step.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "quern/tensor/tensor.h"

namespace quern::infer {

std::vector<Tensor> contiguous_copy(const std::vector<Tensor>& parts);
// Bytes of such a block, for parts with the given bytes per row, without the tensor handles.
int64_t contiguous_bytes(std::span<const int64_t> parts, int64_t rows = 1);

}  // namespace quern::infer
