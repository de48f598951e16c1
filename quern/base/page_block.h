// A block on ordinary pages of its own: they cost memory once they are written, and all of them go when the block
// does. For what is reserved long before it is used, or kept beside much of its like; arena.h has the blocks for what
// comes and goes in every step.
#pragma once
#include <cstddef>
#include <memory>

namespace quern {

std::shared_ptr<void> page_block(size_t bytes);  // throws std::bad_alloc
size_t page_block_bytes(size_t wanted);          // what a block of so many bytes takes when all of it is written

}  // namespace quern
