// What the processes of a sandbox use together, read from its own /proc. Process 1, which reads it, is left out.
#pragma once
#include <cstdint>

namespace quern::sandbox {

struct ProcessUsage {
  int64_t memory = 0;  // bytes of anonymous and shared memory; a page that several hold counts for each of them
  int64_t peak = 0;    // bytes: of the process with the highest peak
  double cpu_s = 0;    // with what ended processes used
};
ProcessUsage process_usage();

// The same memory with shared pages split among their holders. Slower; for when process_usage() is over the limit.
int64_t proportional_memory();

}  // namespace quern::sandbox
