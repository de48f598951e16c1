#include "quern/measure/memory_loops_vectors.h"

namespace quern::measure {
namespace {

struct Vector {
  using Vec = double __attribute__((vector_size(32)));
};

}  // namespace

const MemoryLoops kMemoryLoopsAvx2 = Loops<Vector>::kAll;

}  // namespace quern::measure
