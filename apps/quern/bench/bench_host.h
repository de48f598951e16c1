// What this machine is and can do: peaks in some seconds, or everything in some minutes.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace quern::cli {

struct HostBenchOptions {
  int64_t reps = 15;
  bool full = false, json = false;
  std::vector<std::string> only;  // sections of the report: memory, products, operations, storage; empty: all
  std::string html;               // file of the page; empty: none
  std::string storage = ".";      // folder whose storage is measured
  std::string machine;            // file for quern plan; empty: none
};
int bench_host(const HostBenchOptions& options);

}  // namespace quern::cli
