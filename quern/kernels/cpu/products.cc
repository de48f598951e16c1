#include "quern/kernels/cpu/products.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#endif

#include "quern/base/cpu.h"
#include "quern/base/error.h"
#include "quern/kernels/cpu/amx.h"

namespace quern::kernels {
namespace {

#if defined(__x86_64__)
std::string vendor() {
  unsigned a = 0, name[3] = {};
  if (!__get_cpuid(0, &a, &name[0], &name[2], &name[1])) return {};
  return {reinterpret_cast<const char*>(name), 12};
}

std::string processor() {  // vendor, family, model and stepping
  unsigned a = 0, b = 0, c = 0, d = 0;
  __get_cpuid(1, &a, &b, &c, &d);
  return fmt::format("{}-{:08x}", vendor(), a);
}

// AMX-BF16, AMX-TILE and AMX-INT8, tile state that the system saves, and its permission to use it: without the last,
// the first configuration ends the process.
bool ask_for_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) return false;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d >> 22 & 1) || !(d >> 24 & 1) || !(d >> 25 & 1)) return false;
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low >> 17 & 3) != 3) return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#else
std::string vendor() { return {}; }
std::string processor() { return "unknown"; }
bool ask_for_amx() { return false; }
#endif

bool has_vdpbf16() {  // whatever active_isa() is
#if defined(__x86_64__)
  return detected_isa() == Isa::avx512 && __builtin_cpu_supports("avx512bf16") != 0 &&
         __builtin_cpu_supports("avx512vnni") != 0;
#else
  return false;
#endif
}

struct Choice {
  Bf16Products products;
  std::string reason;
};

std::filesystem::path kept_file() {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  if (cache && *cache) return std::filesystem::path(cache) / "quern" / "bf16-products";
  return home && *home ? std::filesystem::path(home) / ".cache" / "quern" / "bf16-products" : std::filesystem::path();
}

std::optional<Bf16Products> kept(const std::filesystem::path& file) {
  std::ifstream f(file);
  std::string who, name;
  while (f >> who >> name)
    if (who == processor() && (name == "fma" || name == "vdpbf16")) return parse_bf16_products(name);
  return {};
}

void keep(const std::filesystem::path& file, Bf16Products p) {
  if (file.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(file.parent_path(), ignored);
  const std::filesystem::path part = fmt::format("{}.{}", file.string(), getpid());
  {
    std::ifstream before(file);
    std::ofstream out(part);
    if (before.peek() != std::ifstream::traits_type::eof()) out << before.rdbuf();
    out << processor() << ' ' << bf16_products_name(p) << '\n';
  }
  std::filesystem::rename(part, file, ignored);
}

// Rates of processors nobody put in a table are half or twice those of FMAs: no load of the machine turns one into the
// other, and the first answer is kept.
Choice measured() {
  const std::filesystem::path file = kept_file();
  if (const auto p = kept(file)) return {*p, fmt::format("measured earlier, kept in {}", file.string())};
  const ProductRates r = measure_product_rates();
  const Bf16Products p = r.vdpbf16 > 1.2 * r.fma ? Bf16Products::vdpbf16 : Bf16Products::fma;
  keep(file, p);
  return {p, fmt::format("measured: vdpbf16ps runs at {:.2f} times the rate of f32 FMAs", r.vdpbf16 / r.fma)};
}

Choice by_rates() {
  if (has_amx()) return {Bf16Products::amx, "table: tiles run at some ten times the rate of f32 FMAs"};
  if (!has_vdpbf16()) return {Bf16Products::fma, "this processor has no other"};
  if (vendor() == "AuthenticAMD")
    return {Bf16Products::vdpbf16, "table: AMD runs vdpbf16ps at twice the rate of f32 FMAs"};
  if (vendor() == "GenuineIntel")
    return {Bf16Products::fma, "table: Intel runs vdpbf16ps at half the rate of f32 FMAs"};
  return measured();
}

Choice initial() {
  const char* wish = std::getenv("QUERN_BF16");
  if (!wish || !*wish) return by_rates();
  const Bf16Products p = parse_bf16_products(wish);
  if (!has_bf16_products(p)) fail("QUERN_BF16={}: this machine does not have that", wish);
  return {p, fmt::format("QUERN_BF16={}", wish)};
}

const Choice& first_choice() {
  static const Choice choice = initial();
  return choice;
}

std::atomic<Bf16Products>& chosen() {
  static std::atomic<Bf16Products> p{first_choice().products};
  return p;
}

std::atomic<bool> exact{false};

}  // namespace

bool exact_rows() { return exact.load(std::memory_order_relaxed); }
void set_exact_rows(bool on) { exact.store(on, std::memory_order_relaxed); }

bool has_amx() {
  static const bool has = detected_isa() == Isa::avx512 && has_vdpbf16() && ask_for_amx();
  return has;
}

bool has_bf16_products(Bf16Products p) {
  return p == Bf16Products::vdpbf16 ? has_vdpbf16() : p == Bf16Products::amx ? has_amx() : true;
}

Bf16Products bf16_products() {
  const Bf16Products p = chosen().load(std::memory_order_relaxed);
  if (active_isa() == Isa::ref) return Bf16Products::fma;
  if (p == Bf16Products::vdpbf16 || p == Bf16Products::amx) return has_avx512_bf16() ? p : Bf16Products::fma;
  return p;
}

void set_bf16_products(Bf16Products p) {
  if (!has_bf16_products(p))
    fail("bf16 products by {} asked for; this machine does not have that", bf16_products_name(p));
  chosen().store(p, std::memory_order_relaxed);
}

std::string bf16_choice_reason() { return first_choice().reason; }

std::string_view bf16_products_name(Bf16Products p) {
  switch (p) {
    case Bf16Products::fma:
      return "fma";
    case Bf16Products::vdpbf16:
      return "vdpbf16";
    case Bf16Products::amx:
      return "amx";
    case Bf16Products::emulated:
      return "emulated";
  }
  return "?";
}

Bf16Products parse_bf16_products(std::string_view name) {
  for (Bf16Products p : {Bf16Products::fma, Bf16Products::vdpbf16, Bf16Products::amx, Bf16Products::emulated})
    if (name == bf16_products_name(p)) return p;
  fail("unknown bf16 products '{}': expected fma, vdpbf16, amx or emulated", name);
}

const AmxKernels& amx_kernels() {
  const Bf16Products p = bf16_products();
  QUERN_CHECK(p == Bf16Products::amx || p == Bf16Products::emulated);
  return p == Bf16Products::amx ? amx_kernels_amx() : amx_kernels_emulated();
}

}  // namespace quern::kernels
