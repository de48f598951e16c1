#include "quern/measure/memory_loops_vectors.h"

namespace quern::measure {
namespace {

struct Vector {
  using Vec = double __attribute__((vector_size(64)));
};

}  // namespace

const MemoryLoops kMemoryLoopsAvx512 = Loops<Vector>::kAll;

}  // namespace quern::measure
