// Cost of one attention layer with its projections, CCA compared with MHA of the same width, in one run.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace quern::cli {

struct MixerBenchOptions {
  int64_t tokens = 16384, width = 2048, reps = 3;
  std::string dtype = "bf16";
  bool skip_backward = false, json = false;
};
int bench_mixers(const MixerBenchOptions& options);

// One token behind 2^10 … deepest others (bench_decode.cc): softmax attention beside memories of fixed size.
struct DecodeBenchOptions {
  int64_t n_head = 4, head_dim = 64, rows = 1024, chunk = 128, deepest = 1 << 17, reps = 5;
  bool json = false;
};
int bench_decode(const DecodeBenchOptions& options);

// The depth at which softmax attention costs what OVQ attention does, for each size of the dictionary, beside what
// counting says: N + C/2 rows are read, and N/2 more when the write's search is paid in full.
int bench_crossing(const DecodeBenchOptions& options, const std::vector<int64_t>& dictionaries);

}  // namespace quern::cli
