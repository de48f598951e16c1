// quern doctor: what this machine offers — instruction set, threads, quota, memory, libraries.
#include <fstream>
#include <thread>

#include "apps/quern/args.h"
#include "apps/quern/verbs.h"
#include "quern/base/cpu.h"
#include "quern/base/json.h"
#include "quern/base/threads.h"
#include "quern/host/host.h"

namespace quern {
namespace {

int64_t meminfo_kib(const std::string& key) {
  std::ifstream f("/proc/meminfo");
  std::string k, unit;
  for (int64_t v; f >> k >> v; std::getline(f, unit))
    if (k == key + ":") return v;
  return 0;
}

std::string first_line(const char* path) {
  std::ifstream f(path);
  std::string s;
  std::getline(f, s);
  return s;
}

}  // namespace

int cmd_doctor(Words args) {
  bool json = false;
  Args a("doctor", "what this machine offers Quern");
  a.flag("--json", json, "one JSON object");
  if (!a.parse(args)) return 0;

  double quota = cgroup_cpu_quota();
  std::string memory_limit = first_line("/sys/fs/cgroup/memory.max");
  std::string pages = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  Json j = Json::object();
  j.set("version", QUERN_VERSION);
  j.set("isa_detected", isa_name(detected_isa()));
  j.set("isa_active", isa_name(active_isa()));
  j.set("avx512_bf16", has_avx512_bf16());
  j.set("hardware_threads", static_cast<int64_t>(std::thread::hardware_concurrency()));
  j.set("threads", thread_count());
  j.set("cgroup_cpu_quota", quota);
  j.set("memory_total_mib", meminfo_kib("MemTotal") / 1024);
  j.set("memory_available_mib", meminfo_kib("MemAvailable") / 1024);
  j.set("cgroup_memory_limit", memory_limit.empty() ? "none" : memory_limit);
  j.set("huge_pages", pages.empty() ? "unknown" : pages);
  j.set("onednn", onednn_version());
  if (json) {
    fmt::print("{}\n", j.dump(2));
    return 0;
  }
  fmt::print("quern {}\n", QUERN_VERSION);
  fmt::print("instruction set  {}{}{}\n", isa_name(active_isa()), has_avx512_bf16() ? " with bf16 dot products" : "",
             active_isa() < detected_isa() ? fmt::format(" (the machine has {})", isa_name(detected_isa())) : "");
  fmt::print("threads          {} of {} hardware threads{}\n", thread_count(), std::thread::hardware_concurrency(), quota > 0 ? fmt::format(", cgroup quota {:.2f} cores", quota) : "");
  fmt::print("memory           {} MiB, {} MiB available{}\n", meminfo_kib("MemTotal") / 1024, meminfo_kib("MemAvailable") / 1024,
             memory_limit.empty() || memory_limit == "max" ? "" : ", cgroup limit " + memory_limit + " bytes");
  fmt::print("huge pages       {}\n", pages.empty() ? "unknown" : pages);
  fmt::print("oneDNN           {}\n", onednn_version());
  if (!has_avx512_bf16()) fmt::print("note: no AVX-512-BF16 here: bf16 weights are widened in registers, prefill runs at f32 speed\n");
  if (pages.find("[never]") != pages.npos) fmt::print("note: transparent huge pages are off; large models start slower\n");
  return 0;
}

}  // namespace quern
