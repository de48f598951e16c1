// Copies of tensors that lie behind each other in one block of memory. What is kept and dropped together is allocated
// together: small blocks by the dozen are rounded up one by one, and leave holes that only their like fit into.
// They do not come from arena.cc's classes, which are for what comes and goes in every step.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "quern/tensor/tensor.h"

namespace quern {

std::vector<Tensor> in_one_block(const std::vector<Tensor>& parts);
// What such a block takes, of parts with so many bytes a row and so many rows, the handles of its tensors not
// counted.
int64_t one_block_bytes(std::span<const int64_t> parts, int64_t rows = 1);

}  // namespace quern
