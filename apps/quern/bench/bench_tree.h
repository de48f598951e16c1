// Attention over ranks, measured: every way of combining partial results (mixers/ranks/reduce_partials.h) and the two
// that move keys and values, compared with attending one's own shard only; and modeled: the same communication
// schedules on networks of up to 1 024 ranks.
#pragma once
#include <cstdint>

namespace quern::cli {

struct TreeBenchOptions {
  int64_t ranks = 8, tokens = 16384, heads = 16, kv_heads = 16, head_dim = 128, reps = 9;
  bool network = false, json = false;
};
int bench_tree(const TreeBenchOptions& options);  // under mpirun: ranks are its processes

}  // namespace quern::cli
