// "CCA pays on CPU": one layer with its projections, against MHA of the same width, in one run.
#pragma once
#include <cstdint>
#include <string>

namespace quern {

struct MixerBenchOptions {
  int64_t tokens = 16384, width = 2048, reps = 3;
  std::string dtype = "bf16";
  bool skip_backward = false;
};
int bench_mixers(const MixerBenchOptions& options, bool json);

}  // namespace quern
