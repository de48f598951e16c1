// Measured limits of this machine: the roofline that every performance figure is a ratio to.
//   compute:   f32 FMAs and the bf16 and int8 products that kernels use, on every thread, GFLOP/s (an FMA counts 2,
//              vdpbf16ps 64 and vpdpbusd 128 per 512-bit register): register-only loops, tiles of AMX from the
//              first-level cache
//   bandwidth: read, write (non-temporal) and copy over ≥ 512 MiB, the best of several stream counts per thread,
//              GB/s (1e9); copy counts the bytes read plus the bytes written
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "quern/base/json.h"

namespace quern::host {

struct HostInfo {
  std::string cpu;          // model name
  int logical_cpus = 0;     // this process may run on
  int threads = 0;          // kernels use: physical cores ∩ affinity ∩ quota, or --threads
  double cgroup_quota = 0;  // cores; 0 = no limit
  std::string isa_detected, isa_active;
  bool avx512_bf16 = false;
  std::string bf16_products, bf16_reason;  // kernels/cpu/products.h
  int64_t memory_bytes = 0;
  std::vector<std::pair<std::string, std::string>> caches;     // "L1d" → "32K"
  std::vector<std::pair<std::string, std::string>> libraries;  // name → version
};
HostInfo host_info();
Json to_json(const HostInfo& h);

enum class Bound { f32_flops, bf16_flops, int8_ops, read, write, copy };
std::string_view bound_name(Bound b);

// Billions of operations a second of one thread by every kind of product this machine has, and a warning where the kind
// that the kernels take is slower than f32 FMAs ("" where it is not).
struct ProductRatesReport {
  std::vector<std::pair<std::string, double>> rates;  // "f32 FMA" → Gop/s
  std::string warning;
};
ProductRatesReport product_rates();

// One measurement in GFLOP/s, GOP/s or GB/s of the active instruction set, over all threads; a few to some tens of
// milliseconds. Where kernels multiply bf16 values by f32 FMAs, bf16_flops measures those.
double measure(Bound b);

// Nanoseconds until what one thread writes has been seen and answered by another, the median of some thousands: 100
// to 200 where their cores share a cache, several times that where they do not, and then every step of a small model
// takes longer. 0 with one thread.
double wakeup_ns();

}  // namespace quern::host
