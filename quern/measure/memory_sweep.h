// Memory: rates of five loops over sizes from the first cache to four times the last, of one thread and of all; time of a
// dependent read (pointer chasing in random order), and of reads by stride. Each the best of its repetitions, as STREAM
// counts: what other programs take meanwhile is no property of the machine.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "quern/measure/plateaus.h"

namespace quern::measure {

enum class MemoryPattern { copy, scale, add, triad, dot };
inline constexpr MemoryPattern kMemoryPatterns[] = {MemoryPattern::copy, MemoryPattern::scale, MemoryPattern::add,
                                                    MemoryPattern::triad, MemoryPattern::dot};
std::string_view pattern_name(MemoryPattern p);

struct MemoryCurve {
  MemoryPattern what = MemoryPattern::copy;
  int threads = 1;
  std::vector<SizePoint> points;  // bytes of all arrays and threads together; GB/s, what is read plus what is written
  std::vector<Plateau> plateaus;
};
struct StridePoint {
  int64_t stride = 0;  // bytes from read to read
  int threads = 1;
  double ns = 0;  // of a read of 8 bytes, per thread
};
struct MemorySweep {
  std::vector<MemoryCurve> curves;
  std::vector<SizePoint> latency;  // bytes; ns of a read that waits for the one before
  std::vector<Plateau> latency_plateaus;
  std::vector<StridePoint> strides;  // over the largest size
};

struct MemorySweepOptions {
  int64_t min_bytes = 16 << 10, max_bytes = 0;  // 0: four times the last cache, at least 64 MiB
  int64_t reps = 7;
  double seconds = 0.002;  // of a repetition at least
};
MemorySweep sweep_memory(const MemorySweepOptions& o);
int64_t last_cache_bytes();  // 0: not known

}  // namespace quern::measure
