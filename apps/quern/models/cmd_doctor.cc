// quern doctor: reports what this machine offers (instruction set, threads, quota, memory, bandwidth, libraries),
// whether a model fits, and what to do about problems.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <vector>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/models/doctor_model.h"
#include "apps/quern/models/shipped_models.h"
#include "quern/base/cpu.h"
#include "quern/base/version.h"
#include "quern/host/host.h"

namespace quern::cli {
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

int64_t whole_number(const std::string& text) {  // -1: it is none
  int64_t v = -1;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), v);
  return bad == std::errc() && end == text.data() + text.size() ? v : -1;
}

// Of this container, in bytes: what was read from files and is given back when it is wanted.
int64_t idle_file_pages() {
  std::ifstream f("/sys/fs/cgroup/memory.stat");
  std::string key, value;
  while (f >> key >> value)
    if (key == "inactive_file") return std::max<int64_t>(0, whole_number(value));
  return 0;
}

// What a process may still take: of the machine, and of the container it is in.
int64_t free_mib(int64_t machine, const std::string& limit) {
  const int64_t maximum = whole_number(limit),
                used = whole_number(first_line("/sys/fs/cgroup/memory.current")) - idle_file_pages();
  return maximum < 0 || used < 0 ? machine : std::min(machine, std::max<int64_t>(0, (maximum - used) >> 20));
}

constexpr int64_t kNeededToMeasureMib = 2048;

}  // namespace

int cmd_doctor(Words args) {
  bool json = false, quick = false;
  std::string dir = {};
  Args a("doctor", "check this machine, whether a model fits and how fast it will be");
  a.optional_positional("DIR", dir)
      .flag("--quick", quick, "skip the measurements of bandwidth and compute peak")
      .json(json)
      .note(
          "DIR is a model or an encoder: doctor says in which formats it fits in the free memory, with how much "
          "context,\nand how fast it will be by the rates of this machine.");
  if (!a.parse(args)) return 0;

  host::HostInfo h = host::host_info();
  std::string limit = first_line("/sys/fs/cgroup/memory.max"),
              pages = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  const int64_t free = free_mib(available_mib(), limit);
  const std::string folder = dir.empty() ? "" : model_folder(dir);
  if (!dir.empty() && !std::filesystem::exists(folder)) fail("{}: no such model folder or file", dir);
  const bool measured = !quick && free >= kNeededToMeasureMib;
  const auto best = [&](host::Bound b) { return measured ? std::max(host::measure(b), host::measure(b)) : 0; };
  const double read_gbs = best(host::Bound::read), bf16 = dir.empty() ? 0 : best(host::Bound::bf16_flops);
  ModelDiagnosis model;
  if (!dir.empty())
    model = diagnose(folder, {.read_gbs = read_gbs, .bf16_gflops = bf16}, best(host::Bound::f32_flops),
                     static_cast<double>(free) * (1 << 20));
  if (json) {
    Json j = host::to_json(h);
    j.set("version", version());
    j.set("memory_available_mib", available_mib()), j.set("memory_free_mib", free);
    if (read_gbs > 0) j.set("read_gbs", read_gbs);
    if (bf16 > 0) j.set("bf16_gflops", bf16);
    if (!dir.empty()) j.set("model", to_json(model));
    j.set("cgroup_memory_limit", limit.empty() ? "none" : limit);
    j.set("huge_pages", pages.empty() ? "unknown" : pages);
    fmt::print("{}\n", j.dump(2));
    return model.fault.empty() ? 0 : 1;
  }
  fmt::print("quern {} on {}\n", version(), h.cpu);
  fmt::print("instruction set  {}{}\n", h.isa_active,
             h.isa_active != h.isa_detected ? fmt::format(" (the machine has {})", h.isa_detected) : "");
  fmt::print("bf16 products    {} ({})\n", h.bf16_products, h.bf16_reason);
  fmt::print("threads          {} of {} CPUs{}\n", h.threads, h.logical_cpus,
             h.cgroup_quota > 0 ? fmt::format(", cgroup quota {:.2f} cores", h.cgroup_quota) : "");
  fmt::print("memory           {} MiB, {} MiB available{}\n", h.memory_bytes >> 20, available_mib(),
             limit.empty() || limit == "max" ? "" : fmt::format(", cgroup limit {} bytes", limit));
  if (read_gbs > 0)
    fmt::print("bandwidth        about {:.1f} GB/s read (quern bench host measures it precisely)\n", read_gbs);
  else if (!quick)
    fmt::print("bandwidth        not measured: needs {1} MiB of free memory, found {0}\n", free, kNeededToMeasureMib);
  if (bf16 > 0) fmt::print("compute          about {:.0f} GFLOP/s of bf16 products\n", bf16);
  if (!dir.empty()) print(model);
  for (const auto& [name, size] : h.caches) fmt::print("cache {:<10} {}\n", name, size);
  for (const auto& [name, version] : h.libraries) fmt::print("{:<16} {}\n", name, version);
  fmt::print("huge pages       {}\n", pages.empty() ? "unknown" : pages);
  if (h.isa_active != h.isa_detected)
    fmt::print("do: unset QUERN_ISA: it limits kernels to {}, but the machine has {}\n", h.isa_active,
               h.isa_detected);
  if (h.cgroup_quota > 0 && h.cgroup_quota < h.threads)
    fmt::print("do: use --threads {}: the cgroup quota allows {:.2f} cores, more threads only wait for each other\n",
               std::max(1, static_cast<int>(h.cgroup_quota)), h.cgroup_quota);
  if (h.cgroup_quota > 0 && h.cgroup_quota < h.logical_cpus)
    fmt::print("note: the cgroup quota allows {:.2f} of {} CPUs; speed grows with the quota\n", h.cgroup_quota,
               h.logical_cpus);
  if (h.isa_detected == isa_name(Isa::ref))
    fmt::print("note: this CPU has no AVX2: Quern uses reference kernels, which are many times slower\n");
  else if (h.bf16_products == "fma")
    fmt::print("note: bf16 weights are widened in registers: prompts and training in bf16 run at f32 speed\n");
  if (pages.find("[never]") != pages.npos)
    fmt::print(
        "do: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (as root): huge pages are off, so large "
        "models start more slowly\n");
  return model.fault.empty() ? 0 : 1;
}

}  // namespace quern::cli
