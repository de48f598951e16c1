// Memory that the allocator (arena.cc) holds beyond what was requested: rounding, and freed blocks kept for reuse, as
// far as they can be returned to the system.
#pragma once
#include <cstddef>

namespace quern {

size_t block_bytes(size_t wanted);  // what a block of so many bytes takes
// Gives back to the system what large blocks lay free since the last time; nothing if that is less than `seconds` ago.
void trim_free_blocks(double seconds);
void give_back_free_blocks();  // all large ones

}  // namespace quern
