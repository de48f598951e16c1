// Blocks that were freed and are kept to be used again (arena.cc), as far as they can be given back to the system.
#pragma once
#include <cstddef>

namespace quern {

size_t give_back_free_blocks();  // bytes that were given back

}  // namespace quern
