// Matrix products y[M,N] = x[M,K]·Wᵀ over a grid of sizes and weight formats, with a model of their time:
//   t = latency + 2MNK / rate + (bytes of W, x and y) / bandwidth
// one for every format, by least absolute relative deviations (time_fit.h). A shape that takes clearly longer than the
// model says is one to avoid, and its neighbors on the grid say which side is to blame. The default grid has 1000 beside
// 1024. Weights are used again and again:
// those that fit into a cache are read from there.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace quern::measure {

struct ProductShape {
  int64_t m = 0, n = 0, k = 0;
  double flops() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};
struct ProductTime {
  ProductShape shape;
  double bytes = 0;      // of weights in their format, input and output in f32
  double seconds = 0;    // the best of the repetitions
  double predicted = 0;  // by the model of its format
  double gflops() const { return shape.flops() / seconds * 1e-9; }
  double slowdown() const { return seconds / predicted; }
};
struct FormatProducts {
  std::string format;  // f32, bf16, q8, q4
  std::vector<ProductTime> times;
  double latency_s = 0, flops_per_s = 0, bytes_per_s = 0, deviation = 0;  // infinite: costs nothing that was seen
  // The least M from which products of N × K reach this share of flops_per_s by the model; 0: none up to 2²⁰ does.
  int64_t knee(int64_t n, int64_t k, double share = 0.9) const;
  std::vector<ProductTime> to_avoid(double slowdown = 1.5) const;  // the slowest first
  // The side that is to blame: with a size close by instead the product is less slow. "": no such pair was measured.
  std::string slow_reason(const ProductTime& slow) const;
};

struct ProductSweepOptions {
  std::vector<std::string> formats = {"f32", "bf16", "q8", "q4"};
  std::vector<int64_t> m = {1, 4, 16, 64, 256, 512}, n = {256, 1000, 1024, 2048}, k = {256, 1000, 1024, 2048};
  int64_t reps = 9;
  double seconds = 0.002;  // of a repetition at least
  std::function<void(const FormatProducts&)> done = {};
};
std::vector<FormatProducts> sweep_products(const ProductSweepOptions& o);
void fit_products(FormatProducts& f);  // sets the model and the predictions from times

}  // namespace quern::measure
