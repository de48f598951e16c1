// Kernel benchmarks: time, rate, and ratio to the machine's limit, both measured in the same run. A module's
// *_bench.cc supplies `void bench_<module>(Bench& b)` (e.g. bench_kernels_gemm) in namespace quern:
//
//   void bench_kernels_norm(Bench& b) {
//     auto x = …, y = …;                                        // allocate and fill before, never inside the body
//     b.row("rms_norm", "4096x2048 f32", {Bound::copy, bytes}, [&] { kernels::rms_norm<float>(…); });
//   }
//
// One repetition measures the bound and then calls the body until it has run ≥ 10 ms; a row is the median of the
// repetitions' ratios. Above 1.05 a ratio is a measurement error (mostly data in cache) and is printed with a "!".
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/json.h"
#include "quern/host/host.h"

namespace quern::host {

struct Workload {
  Bound bound = Bound::f32_flops;
  double amount = 0;  // flops, or bytes moved, of one call of the body
};

class Bench {
 public:
  struct Options {
    std::vector<std::string> only;  // ROOM or ROOM/ROW, each part of a name; empty = everything
    int reps = 15;
    bool progress = true;  // a line per row on stderr as it is measured
  };
  struct Row {
    std::string kernel, shape, bound;
    double seconds = 0;   // median of one call
    double achieved = 0;  // GFLOP/s or GB/s at that median
    double peak = 0;      // median of the bound
    double ratio = 0;     // median of the repetitions' ratios
  };

  explicit Bench(Options o) : options_(std::move(o)) {}
  bool wants(std::string_view room);  // also makes it the room of the rows that follow
  void row(std::string kernel, std::string shape, Workload workload, const std::function<void()>& body);
  std::span<const Row> rows() const { return rows_; }
  std::string table() const;
  Json json() const;

 private:
  Options options_;
  std::string room_;
  std::vector<Row> rows_;
};

double median(std::vector<double> v);  // 0 of nothing
double time_once(const std::function<void()>& body,
                 double at_least_seconds = 0.01);  // seconds a call, after one warm call

void run_all_benches(Bench& b);  // generated: every room's bench_<room>

}  // namespace quern::host
