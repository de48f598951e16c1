// What blocks of memory take beside what was asked for (arena.cc): sizes are rounded up, and blocks that were freed
// are kept to be used again, as far as they can be given back to the system.
#pragma once
#include <cstddef>

namespace quern {

size_t block_bytes(size_t wanted);  // what a block of so many bytes takes
void trim_free_blocks();            // gives back to the system what lay free since the last call
void give_back_free_blocks();       // gives back all

}  // namespace quern
