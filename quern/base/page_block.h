// A memory block on its own pages: pages cost memory once they are written, and all are returned with the block. For
// memory reserved long before use, or kept in large numbers; arena.h serves allocations that come and go in every
// step.
#pragma once
#include <cstddef>
#include <memory>

namespace quern {

std::shared_ptr<void> page_block(size_t bytes);  // throws std::bad_alloc
size_t page_block_bytes(size_t wanted);          // what a block of so many bytes takes when all of it is written

}  // namespace quern
