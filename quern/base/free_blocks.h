// What blocks of memory take beside what was asked for (arena.cc): sizes are rounded up, and blocks that were freed
// are kept to be used again, as far as they can be given back to the system.
#pragma once
#include <cstddef>

namespace quern {

size_t block_bytes(size_t wanted);  // what a block of so many bytes takes
size_t give_back_free_blocks();     // bytes that were given back

}  // namespace quern
