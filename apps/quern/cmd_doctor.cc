// quern doctor: what this machine offers — instruction set, threads, quota, memory, libraries — and what to mind.
#include <fstream>

#include "apps/quern/args.h"
#include "apps/quern/verbs.h"
#include "quern/host/host.h"

namespace quern {
namespace {

int64_t available_mib() {
  std::ifstream f("/proc/meminfo");
  std::string key, unit;
  for (int64_t v; f >> key >> v; std::getline(f, unit))
    if (key == "MemAvailable:") return v / 1024;
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

  HostInfo h = host_info();
  std::string limit = first_line("/sys/fs/cgroup/memory.max"),
              pages = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  if (json) {
    Json j = to_json(h);
    j.set("version", QUERN_VERSION);
    j.set("memory_available_mib", available_mib());
    j.set("cgroup_memory_limit", limit.empty() ? "none" : limit);
    j.set("huge_pages", pages.empty() ? "unknown" : pages);
    fmt::print("{}\n", j.dump(2));
    return 0;
  }
  fmt::print("quern {} on {}\n", QUERN_VERSION, h.cpu);
  fmt::print("instruction set  {}{}{}\n", h.isa_active, h.avx512_bf16 ? " with bf16 dot products" : "",
             h.isa_active != h.isa_detected ? fmt::format(" (the machine has {})", h.isa_detected) : "");
  fmt::print("threads          {} of {} CPUs{}\n", h.threads, h.logical_cpus,
             h.cgroup_quota > 0 ? fmt::format(", cgroup quota {:.2f} cores", h.cgroup_quota) : "");
  fmt::print("memory           {} MiB, {} MiB available{}\n", h.memory_bytes >> 20, available_mib(),
             limit.empty() || limit == "max" ? "" : fmt::format(", cgroup limit {} bytes", limit));
  for (const auto& [name, size] : h.caches) fmt::print("cache {:<10} {}\n", name, size);
  for (const auto& [name, version] : h.libraries) fmt::print("{:<16} {}\n", name, version);
  fmt::print("huge pages       {}\n", pages.empty() ? "unknown" : pages);
  if (!h.avx512_bf16)
    fmt::print("note: no AVX-512-BF16 here: bf16 weights are widened in registers, prefill runs at f32 speed\n");
  if (pages.find("[never]") != pages.npos)
    fmt::print("note: transparent huge pages are off: large models start slower\n");
  return 0;
}

}  // namespace quern
