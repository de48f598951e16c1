#include "quern/base/cpu.h"

#include <atomic>
#include <cstdlib>

#include "quern/base/error.h"

namespace quern {
namespace {

Isa detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq"))
    return Isa::avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Isa::avx2;
#endif
  return Isa::ref;
}

Isa initial() {
  const char* wish = std::getenv("QUERN_ISA");
  if (!wish || !*wish) return detected_isa();
  Isa isa = parse_isa(wish);
  if (isa > detected_isa())
    fail("QUERN_ISA={}: this machine supports only {}; set that or a lower one", wish, isa_name(detected_isa()));
  return isa;
}

std::atomic<Isa>& active() {
  static std::atomic<Isa> isa{initial()};
  return isa;
}

std::atomic<bool> bf16_allowed{true};

}  // namespace

Isa detected_isa() {
  static const Isa isa = detect();
  return isa;
}

Isa active_isa() { return active().load(std::memory_order_relaxed); }

void set_active_isa(Isa isa) {
  if (isa > detected_isa())
    fail("instruction set {} asked for; this machine has only {}", isa_name(isa), isa_name(detected_isa()));
  active().store(isa, std::memory_order_relaxed);
}

bool has_avx512_bf16() {
#if defined(__x86_64__)
  // What is compiled for it uses both; no processor has the first alone, but a virtual machine may show it so.
  static const bool cpu = __builtin_cpu_supports("avx512bf16") != 0 && __builtin_cpu_supports("avx512vnni") != 0;
  return cpu && bf16_allowed.load(std::memory_order_relaxed) && active_isa() == Isa::avx512;
#else
  return false;
#endif
}

bool has_avx512_vnni() {
#if defined(__x86_64__)
  static const bool cpu = __builtin_cpu_supports("avx512vnni") != 0;
  return cpu && bf16_allowed.load(std::memory_order_relaxed) && active_isa() == Isa::avx512;
#else
  return false;
#endif
}

void allow_avx512_bf16(bool allowed) { bf16_allowed.store(allowed, std::memory_order_relaxed); }

Isa parse_isa(std::string_view name) {
  if (name == "ref") return Isa::ref;
  if (name == "avx2") return Isa::avx2;
  if (name == "avx512") return Isa::avx512;
  fail("unknown instruction set '{}': expected ref, avx2 or avx512", name);
}

std::string_view isa_name(Isa isa) {
  switch (isa) {
    case Isa::ref:
      return "ref";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
  }
  return "?";
}

}  // namespace quern
