#include "quern/measure/product_sweep.h"

#include <algorithm>
#include <limits>

#include "quern/base/error.h"
#include "quern/host/bench.h"
#include "quern/kernels/bench_data.h"
#include "quern/kernels/gemm/gemm.h"
#include "quern/kernels/quant/quant_linear.h"
#include "quern/measure/time_fit.h"

namespace quern::measure {
namespace {

using Product = std::function<void(const Tensor& x, Tensor& y)>;

struct Weights {
  Product apply;
  double bytes = 0;
};

Weights weights(const std::string& format, int64_t n, int64_t k) {
  const Tensor values = kernels::random_f32({n, k}, 5);
  if (format == "f32" || format == "bf16") {
    const auto w = kernels::PackedLinear::pack(values, format == "f32" ? DType::f32 : DType::bf16);
    return {[w](const Tensor& x, Tensor& y) {
              w.apply(x.view<const float, 2>(), {}, y.view<float, 2>(), thread_arena());
            },
            static_cast<double>(w.bytes())};
  }
  if (format != "q8" && format != "q4") fail("weight format '{}': expected f32, bf16, q8 or q4", format);
  const kernels::QuantFormat scheme = format == "q8" ? kernels::QuantFormat{kernels::WeightFormat::q8}
                                                     : kernels::QuantFormat{kernels::WeightFormat::q4, 32};
  const auto w = kernels::QuantLinear::pack(values, scheme);
  return {
      [w](const Tensor& x, Tensor& y) { w.apply(x.view<const float, 2>(), {}, y.view<float, 2>(), thread_arena()); },
      static_cast<double>(w.blob().size())};
}

double inverse(double cost) { return cost > 0 ? 1 / cost : std::numeric_limits<double>::infinity(); }

double model(const FormatProducts& f, const ProductShape& s, double bytes) {
  return f.latency_s + s.flops() / f.flops_per_s + bytes / f.bytes_per_s;
}

}  // namespace

void fit_products(FormatProducts& f) {
  std::vector<std::vector<double>> amounts;
  std::vector<double> seconds;
  for (const ProductTime& t : f.times) amounts.push_back({1, t.shape.flops(), t.bytes}), seconds.push_back(t.seconds);
  const TimeFit fit = fit_times(amounts, seconds);
  f.latency_s = fit.costs[0], f.flops_per_s = inverse(fit.costs[1]), f.bytes_per_s = inverse(fit.costs[2]);
  f.deviation = fit.deviation;
  for (ProductTime& t : f.times) t.predicted = model(f, t.shape, t.bytes);
}

int64_t FormatProducts::knee(int64_t n, int64_t k, double share) const {
  double weight_bytes = 0;  // of one weight, from the largest product measured
  for (const ProductTime& t : times) {
    const auto area = static_cast<double>(t.shape.n * t.shape.k);
    const double in_out = 4.0 * static_cast<double>(t.shape.m * (t.shape.n + t.shape.k));
    weight_bytes = std::max(weight_bytes, (t.bytes - in_out) / area);
  }
  for (int64_t m = 1; m <= int64_t{1} << 20; m += std::max<int64_t>(1, m / 16)) {
    const ProductShape s{m, n, k};
    const double bytes = weight_bytes * static_cast<double>(n * k) + 4.0 * static_cast<double>(m * (n + k));
    if (s.flops() / model(*this, s, bytes) >= share * flops_per_s) return m;
  }
  return 0;
}

std::vector<ProductTime> FormatProducts::to_avoid(double slowdown) const {
  std::vector<ProductTime> slow;
  for (const ProductTime& t : times)
    if (t.slowdown() > slowdown) slow.push_back(t);
  std::sort(slow.begin(), slow.end(),
            [](const ProductTime& a, const ProductTime& b) { return a.slowdown() > b.slowdown(); });
  return slow;
}

std::string FormatProducts::slow_reason(const ProductTime& slow) const {
  std::string reason;
  for (const ProductTime& t : times) {
    const bool other_n = t.shape.n != slow.shape.n, other_k = t.shape.k != slow.shape.k;
    const int64_t size = other_n ? t.shape.n : t.shape.k, here = other_n ? slow.shape.n : slow.shape.k;
    const bool close = size < 1.1 * static_cast<double>(here) && here < 1.1 * static_cast<double>(size);
    if (t.shape.m != slow.shape.m || other_n == other_k || !close || t.slowdown() > slow.slowdown() / 1.3) continue;
    reason += fmt::format("{}{} = {}: {} is {:.1f} times as fast", reason.empty() ? "" : ", ", other_n ? "N" : "K",
                          here, size, t.gflops() / slow.gflops());
  }
  return reason;
}

std::vector<FormatProducts> sweep_products(const ProductSweepOptions& o) {
  std::vector<FormatProducts> all;
  for (const std::string& format : o.formats) {
    FormatProducts f;
    f.format = format;
    for (const int64_t n : o.n)
      for (const int64_t k : o.k) {
        const Weights w = weights(format, n, k);
        for (const int64_t m : o.m) {
          const Tensor x = kernels::random_f32({m, k}, 77);
          Tensor y = Tensor::zeros({m, n}, DType::f32);
          double best = std::numeric_limits<double>::infinity();
          for (int64_t r = 0; r < o.reps; ++r)
            best = std::min(best, host::time_once([&] { w.apply(x, y); }, o.seconds));
          f.times.push_back({{m, n, k}, w.bytes + 4.0 * static_cast<double>(m * (n + k)), best, 0});
        }
      }
    fit_products(f);
    if (o.done) o.done(f);
    all.push_back(std::move(f));
  }
  return all;
}

}  // namespace quern::measure
