// Implements measure(Bound). Bandwidth loops use 16-byte accesses: at two per cycle they are several times faster than
// a core's share of DRAM, so no wider version is needed.
#include <algorithm>
#include <chrono>
#include <vector>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "quern/base/arena.h"
#include "quern/base/cpu.h"
#include "quern/base/threads.h"
#include "quern/host/host.h"
#include "quern/kernels/cpu/peaks.h"
#include "quern/kernels/cpu/products.h"

namespace quern::host {
namespace {

using Clock = std::chrono::steady_clock;
using Vec = float __attribute__((vector_size(16)));

constexpr size_t kBytes = size_t{512} << 20;  // far beyond any cache; the same for each of the two arrays
constexpr int64_t kSteps = 1 << 20;           // × 12 chains ≈ 3–4 ms at one a cycle
constexpr double kChains = kernels::kPeakAccumulators;
constexpr size_t kBlock = 4096;           // a stream is walked a page at a time
constexpr int kStreams[] = {1, 2, 4, 8};  // per thread; which is best differs between machines

volatile float g_sink;

// Runs body(thread, threads) on every thread at once and returns the seconds from first start to last end.
template <class F>
double timed(F&& body) {
  int n = thread_count();
  std::vector<Clock::time_point> begin(static_cast<size_t>(n)), end(begin);
  auto part = [&](int64_t t) {
    begin[static_cast<size_t>(t)] = Clock::now();
    body(static_cast<int>(t), n);
    end[static_cast<size_t>(t)] = Clock::now();
  };
  parallel_dynamic(n, part);
  return std::chrono::duration<double>(*std::max_element(end.begin(), end.end()) -
                                       *std::min_element(begin.begin(), begin.end()))
      .count();
}

float f32_generic(int64_t steps) {  // machines without AVX2, and QUERN_ISA=ref: baseline vectors, multiply then add
  Vec acc[kernels::kPeakAccumulators];
  for (int i = 0; i < kernels::kPeakAccumulators; ++i) acc[i] = Vec{} + static_cast<float>(i);
  for (int64_t s = 0; s < steps; ++s)
    for (Vec& a : acc) {
      a = a * 0.5f + 1.0f;
      asm volatile("" : "+m"(a));
    }
  return acc[0][0];
}

int int8_generic(int64_t steps) {
  using Bytes = int8_t __attribute__((vector_size(8)));
  using Sums = int32_t __attribute__((vector_size(32)));
  Sums acc[kernels::kPeakAccumulators] = {};
  Bytes a = Bytes{} + int8_t{1}, b = Bytes{} - int8_t{1};
  for (int64_t s = 0; s < steps; ++s)
    for (Sums& sum : acc) {
      asm volatile("" : "+m"(a), "+m"(b));
      sum += __builtin_convertvector(a, Sums) * __builtin_convertvector(b, Sums);
    }
  return acc[0][0] + acc[kernels::kPeakAccumulators - 1][1];
}

template <class T>
struct PeakLoop {
  T (*run)(int64_t steps);
  double each;  // operations of a step
};

PeakLoop<float> f32_loop() {
  switch (active_isa()) {
    case Isa::avx512:
      return {kernels::peak_f32_avx512, 32 * kChains};
    case Isa::avx2:
      return {kernels::peak_f32_avx2, 16 * kChains};
    default:
      return {f32_generic, 8 * kChains};
  }
}

PeakLoop<float> bf16_loop() {
  switch (kernels::bf16_products()) {
    case kernels::Bf16Products::amx:
      return {kernels::peak_bf16_amx, kernels::kPeakAmxBf16};
    case kernels::Bf16Products::vdpbf16:
      return {kernels::peak_bf16_avx512bf16, 64 * kChains};
    default:
      return f32_loop();
  }
}

PeakLoop<int> int8_loop() {
  if (kernels::bf16_products() == kernels::Bf16Products::amx) return {kernels::peak_int8_amx, kernels::kPeakAmxInt8};
  if (has_avx512_vnni()) return {kernels::peak_int8_avx512vnni, 128 * kChains};
  switch (active_isa()) {
    case Isa::avx512:
      return {kernels::peak_int8_avx512, 128 * kChains};
    case Isa::avx2:
      return {kernels::peak_int8_avx2, 64 * kChains};
    default:
      return {int8_generic, 16 * kChains};
  }
}

template <class T>
double peak(PeakLoop<T> loop) {  // billions a second, all threads
  double s = timed([&](int, int) { g_sink = static_cast<float>(loop.run(kSteps)); });
  return loop.each * static_cast<double>(kSteps) * thread_count() / s * 1e-9;
}

struct Buffers {
  char* a = static_cast<char*>(cached_alloc(kBytes));
  char* b = static_cast<char*>(cached_alloc(kBytes));
  Buffers() {  // touched once, by the threads that will use the parts, with bytes no memory controller can guess
    timed([&](int t, int n) {
      uint64_t x = 0x9e3779b97f4a7c15ull + static_cast<uint64_t>(t);
      auto* pa = reinterpret_cast<uint64_t*>(a);
      auto* pb = reinterpret_cast<uint64_t*>(b);
      size_t words = kBytes / 8, from = words * static_cast<size_t>(t) / static_cast<size_t>(n),
             to = words * static_cast<size_t>(t + 1) / static_cast<size_t>(n);
      for (size_t i = from; i < to; ++i) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        pa[i] = x & 0x3fffffff3fffffffull;  // as floats: small normal numbers, no NaN to slow an addition
        pb[i] = x;
      }
    });
  }
  ~Buffers() { cached_free(a, kBytes), cached_free(b, kBytes); }
};

float read_block(const char* p) {
  const Vec* v = reinterpret_cast<const Vec*>(p);
  Vec s0{}, s1{}, s2{}, s3{};
  for (size_t i = 0; i < kBlock / sizeof(Vec); i += 4) s0 += v[i], s1 += v[i + 1], s2 += v[i + 2], s3 += v[i + 3];
  s0 = s0 + s1 + s2 + s3;
  return s0[0] + s0[1];
}

void store_block(char* p, const char* from) {  // from null: zeros
#if defined(__x86_64__)
  for (size_t i = 0; i < kBlock; i += 16)
    _mm_stream_si128(reinterpret_cast<__m128i*>(p + i),
                     from ? _mm_load_si128(reinterpret_cast<const __m128i*>(from + i)) : _mm_setzero_si128());
#else
  for (size_t i = 0; i < kBlock; ++i) p[i] = from ? from[i] : char{0};
#endif
}

// Every thread walks `streams` equal parts of its share side by side.
template <class F>
double walk(int streams, F&& block) {
  return timed([&](int t, int n) {
    size_t part = kBytes / kBlock / static_cast<size_t>(n * streams) * kBlock;
    for (size_t at = 0; at < part; at += kBlock)
      for (int s = 0; s < streams; ++s) block(static_cast<size_t>(t * streams + s) * part + at);
  });
}

double bandwidth(Bound b) {
  static Buffers* buffers = new Buffers;  // kept: touching a gigabyte costs more than measuring it
  double best = 0;
  for (int streams : kStreams) {
    double s = 0, bytes = kBytes;
    if (b == Bound::read) {
      s = walk(streams, [&](size_t at) { g_sink = read_block(buffers->a + at); });
    } else if (b == Bound::write) {
      s = walk(streams, [&](size_t at) { store_block(buffers->b + at, nullptr); });
    } else {
      s = walk(streams, [&](size_t at) { store_block(buffers->b + at, buffers->a + at); });
      bytes *= 2;
    }
    best = std::max(best, bytes / s * 1e-9);
  }
  return best;
}

}  // namespace

std::string_view bound_name(Bound b) {
  switch (b) {
    case Bound::f32_flops:
      return "f32 peak";
    case Bound::bf16_flops:
      return "bf16 peak";
    case Bound::int8_ops:
      return "int8 peak";
    case Bound::read:
      return "read";
    case Bound::write:
      return "write";
    case Bound::copy:
      return "copy";
  }
  return "?";
}

double measure(Bound b) {
  if (b == Bound::int8_ops) return peak(int8_loop());
  if (b == Bound::f32_flops) return peak(f32_loop());
  if (b == Bound::bf16_flops) return peak(bf16_loop());
  return bandwidth(b);
}

}  // namespace quern::host
