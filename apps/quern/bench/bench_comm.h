// Collectives between ranks, measured: threads of this process, or the processes of mpirun.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace quern::cli {

struct CommBenchOptions {
  std::vector<int64_t> ranks;           // how many take part, one after the other; empty: 2, or all of mpirun
  std::vector<std::string> operations;  // empty: all
  int64_t max_mib = 64, reps = 7;
  std::string machine;  // file for quern plan; empty: none
  bool json = false;
};
int bench_comm(const CommBenchOptions& options);

}  // namespace quern::cli
