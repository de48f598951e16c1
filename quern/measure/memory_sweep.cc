#include "quern/measure/memory_sweep.h"

#include <sched.h>

#include <algorithm>
#include <barrier>
#include <cmath>
#include <limits>
#include <numeric>
#include <thread>

#include "quern/base/cpu.h"
#include "quern/base/rng.h"
#include "quern/base/stopwatch.h"
#include "quern/base/threads.h"
#include "quern/host/host.h"
#include "quern/measure/memory_loops.h"
#include "quern/tensor/tensor.h"

namespace quern::measure {
namespace {

constexpr const char* kNames[] = {"copy", "scale", "add", "triad", "dot"};
constexpr int kArrays[] = {2, 2, 3, 3, 2};
constexpr int64_t kGap = 40;   // doubles between arrays: they would meet in the same sets of a cache
constexpr int64_t kUnit = 32;  // doubles: what the loops take at a time
volatile double sink;

const MemoryLoops& loops() {
  switch (active_isa()) {
    case Isa::avx512:
      return kMemoryLoopsAvx512;
    case Isa::avx2:
      return kMemoryLoopsAvx2;
    default:
      return kMemoryLoopsRef;
  }
}

void pass(MemoryPattern p, double* a, double* b, double* c, int64_t n) {
  const MemoryLoops& l = loops();
  switch (p) {
    case MemoryPattern::copy:
      return l.copy(a, c, n);
    case MemoryPattern::scale:
      return l.scale(c, b, n);
    case MemoryPattern::add:
      return l.add(a, b, c, n);
    case MemoryPattern::triad:
      return l.triad(b, c, a, n);
    case MemoryPattern::dot:
      sink = l.dot(a, b, n);
  }
}

// The calling thread stays on the t-th of the processors that it may use: or two that begin together may share one.
void stay_on(int64_t t) {
  cpu_set_t may, one;
  if (::sched_getaffinity(0, sizeof may, &may) != 0) return;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &may) && t-- == 0) CPU_SET(cpu, &one);
  if (CPU_COUNT(&one) == 1) ::sched_setaffinity(0, sizeof one, &one);
}

// Seconds of body(thread, passes) for one pass, on so many threads at once, each with its part in its own caches; from
// the first begin to the last end, the best of repetitions that take at least `seconds`. Threads of its own, which begin
// together: a pool's free thread may take the part of one that is not awake yet, and the two would run in turn.
template <class F>
double time_passes(int threads, const MemorySweepOptions& o, F&& body) {
  std::vector<double> begins(static_cast<size_t>(threads)), ends(begins);
  std::barrier<> together(threads + 1);
  int64_t passes = 1;
  bool stop = false;
  std::vector<std::jthread> workers;
  for (int64_t t = 0; t < threads; ++t)
    workers.emplace_back([&, t] {
      stay_on(t);
      for (together.arrive_and_wait(); !stop; together.arrive_and_wait()) {
        begins[static_cast<size_t>(t)] = steady_seconds();
        body(t, passes);
        ends[static_cast<size_t>(t)] = steady_seconds();
        together.arrive_and_wait();
      }
    });
  const auto run = [&] {
    together.arrive_and_wait();
    together.arrive_and_wait();
    return *std::max_element(ends.begin(), ends.end()) - *std::min_element(begins.begin(), begins.end());
  };
  while (run() < o.seconds && passes < int64_t{1} << 30) passes *= 2;
  double best = std::numeric_limits<double>::infinity();
  for (int64_t r = 0; r < o.reps; ++r) best = std::min(best, run() / static_cast<double>(passes));
  stop = true;
  together.arrive_and_wait();
  return best;
}

std::vector<int64_t> sizes(const MemorySweepOptions& o) {  // two to every doubling
  std::vector<int64_t> v;
  for (double s = static_cast<double>(o.min_bytes); s <= static_cast<double>(o.max_bytes) * 1.01; s *= std::sqrt(2.0))
    v.push_back(static_cast<int64_t>(s));
  return v;
}

MemoryCurve curve(MemoryPattern what, int threads, const MemorySweepOptions& o) {
  MemoryCurve m{.what = what, .threads = threads, .points = {}, .plateaus = {}};
  const int64_t arrays = kArrays[static_cast<size_t>(what)];
  const int64_t most = o.max_bytes / 8 / arrays + kUnit;
  Tensor memory = Tensor::full({3 * (most + threads * kGap) + 3 * kGap * threads}, DType::f64, 1);
  double* const base = memory.data<double>();
  for (const int64_t bytes : sizes(o)) {
    const int64_t n = bytes / 8 / arrays / threads / kUnit * kUnit;
    if (n == 0) continue;
    const double s = time_passes(threads, o, [&](int64_t part, int64_t passes) {
      // a thread's arrays lie beside each other, 64-byte aligned, and do not share a cache's sets
      double* const a = base + part * 3 * (n + kGap);
      for (int64_t i = 0; i < passes; ++i) pass(what, a, a + n + kGap, a + 2 * (n + kGap), n);
    });
    const double moved = static_cast<double>(8 * arrays * n * threads);
    m.points.push_back({moved, moved / s * 1e-9});
  }
  m.plateaus = find_plateaus(m.points);
  return m;
}

// One random cycle through all cache lines: each holds the place of the next.
double chase_ns(int64_t bytes, const MemorySweepOptions& o) {
  constexpr int64_t kLine = 8;  // doubles
  const int64_t lines = bytes / 64;
  std::vector<int64_t> order(static_cast<size_t>(lines));
  std::iota(order.begin(), order.end(), int64_t{0});
  Rng rng(7);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  Tensor memory = Tensor::zeros({lines * kLine}, DType::i64);
  int64_t* const next = memory.data<int64_t>();
  for (size_t i = 0; i < order.size(); ++i) next[order[i] * kLine] = order[(i + 1) % order.size()] * kLine;
  constexpr int64_t kReads = 4096;
  int64_t at = 0;
  const double s = time_passes(1, o, [&](int64_t, int64_t passes) {
    for (int64_t i = 0; i < passes * kReads; ++i) at = next[at];
    sink = static_cast<double>(at);
  });
  return s / kReads * 1e9;
}

std::vector<StridePoint> strides(const std::vector<int>& threads, const MemorySweepOptions& o) {
  const int64_t n = o.max_bytes / 8;
  Tensor memory = Tensor::full({n}, DType::f64, 1);
  std::vector<StridePoint> all;
  for (const int t : threads)
    for (int64_t stride = 1; stride <= 1024; stride *= 2) {
      const int64_t share = n / t, reads = share / stride / 4 * 4;
      const double s = time_passes(t, o, [&](int64_t part, int64_t passes) {
        const double* const p = memory.data<double>() + part * share;
        double sum[4] = {};  // or an addition would wait for the one before
        for (int64_t i = 0; i < passes; ++i)
          for (int64_t r = 0; r < reads; r += 4)
            for (int64_t j = 0; j < 4; ++j) sum[j] += p[(r + j) * stride];
        sink = sum[0] + sum[1] + sum[2] + sum[3];
      });
      all.push_back({8 * stride, t, s / static_cast<double>(reads) * 1e9});
    }
  return all;
}

}  // namespace

std::string_view pattern_name(MemoryPattern p) { return kNames[static_cast<size_t>(p)]; }

int64_t last_cache_bytes() {
  int64_t most = 0;
  for (const auto& [name, size] : host::host_info().caches) {
    const int64_t n = std::atoll(size.c_str());
    most = std::max(most, size.ends_with("M") ? n << 20 : size.ends_with("K") ? n << 10 : n);
  }
  return most;
}

MemorySweep sweep_memory(const MemorySweepOptions& given) {
  MemorySweepOptions o = given;
  if (o.max_bytes == 0) o.max_bytes = std::max<int64_t>(4 * last_cache_bytes(), int64_t{64} << 20);
  std::vector<int> threads{1};
  if (thread_count() > 1) threads.push_back(thread_count());
  MemorySweep m;
  for (const int t : threads)
    for (const MemoryPattern p : kMemoryPatterns) m.curves.push_back(curve(p, t, o));
  for (const int64_t bytes : sizes(o)) m.latency.push_back({static_cast<double>(bytes), chase_ns(bytes, o)});
  m.latency_plateaus = find_plateaus(m.latency);
  m.strides = strides(threads, o);
  return m;
}

}  // namespace quern::measure
