// host_info(): what the system reports about itself, without measurements.
#include "quern/host/host.h"

#include <sched.h>
#include <unistd.h>

#include <fstream>

#include "quern/base/cpu.h"
#include "quern/base/threads.h"
#include "quern/kernels/cpu/products.h"
#include "quern/kernels/gemm/gemm.h"

namespace quern::host {
namespace {

std::string first_line(const std::string& file) {
  std::ifstream f(file);
  std::string s;
  std::getline(f, s);
  return s;
}

std::string cpu_model() {
  std::ifstream f("/proc/cpuinfo");
  std::string s;
  while (std::getline(f, s))
    if (s.starts_with("model name") && s.find(": ") != std::string::npos) return s.substr(s.find(": ") + 2);
  return "unknown";
}

std::vector<std::pair<std::string, std::string>> cache_sizes() {
  std::vector<std::pair<std::string, std::string>> r;
  for (int i = 0;; ++i) {
    std::string dir = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", i);
    std::string level = first_line(dir + "level"), type = first_line(dir + "type");
    if (level.empty()) return r;
    r.emplace_back("L" + level + (type == "Data" ? "d" : type == "Instruction" ? "i" : ""), first_line(dir + "size"));
  }
}

Json pairs_json(const std::vector<std::pair<std::string, std::string>>& p) {
  Json j = Json::object();
  for (const auto& [name, value] : p) j.set(name, value);
  return j;
}

}  // namespace

HostInfo host_info() {
  HostInfo h;
  h.cpu = cpu_model();
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) h.logical_cpus = CPU_COUNT(&set);
  h.threads = thread_count();
  h.cgroup_quota = cgroup_cpu_quota();
  h.isa_detected = isa_name(detected_isa());
  h.isa_active = isa_name(active_isa());
  h.avx512_bf16 = has_avx512_bf16();
  h.bf16_products = kernels::bf16_products_name(kernels::bf16_products());
  h.bf16_reason = kernels::bf16_choice_reason();
  h.memory_bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  h.caches = cache_sizes();
  h.libraries = {{"oneDNN", kernels::gemm_library_version()}, {"fmt", fmt::format("{}", FMT_VERSION)}};
#ifdef __VERSION__
  h.libraries.emplace_back("compiler", __VERSION__);
#endif
  return h;
}

Json to_json(const HostInfo& h) {
  Json j = Json::object();
  j.set("cpu", h.cpu);
  j.set("logical_cpus", h.logical_cpus);
  j.set("threads", h.threads);
  j.set("cgroup_quota", h.cgroup_quota);
  j.set("isa_detected", h.isa_detected);
  j.set("isa_active", h.isa_active);
  j.set("avx512_bf16", h.avx512_bf16);
  j.set("bf16_products", h.bf16_products);
  j.set("bf16_choice", h.bf16_reason);
  j.set("memory_bytes", h.memory_bytes);
  j.set("caches", pairs_json(h.caches));
  j.set("libraries", pairs_json(h.libraries));
  return j;
}

ProductRatesReport product_rates() {
  const kernels::ProductRates r = kernels::measure_product_rates();
  ProductRatesReport report;
  for (const auto& [name, rate] : {std::pair<const char*, double>{"f32 FMA", r.fma},
                                   {"vdpbf16ps", r.vdpbf16},
                                   {"AMX bf16", r.amx_bf16},
                                   {"vpdpbusd", r.vnni},
                                   {"AMX int8", r.amx_int8}})
    if (rate > 0) report.rates.emplace_back(name, rate);
  const kernels::Bf16Products p = kernels::bf16_products();
  const double used = p == kernels::Bf16Products::amx       ? r.amx_bf16
                      : p == kernels::Bf16Products::vdpbf16 ? r.vdpbf16
                                                            : r.fma;
  if (used < r.fma)
    report.warning = fmt::format("bf16 products by {} are slower here than f32 FMAs: {:.0f} against {:.0f} Gop/s",
                                 kernels::bf16_products_name(p), used, r.fma);
  return report;
}

}  // namespace quern::host
