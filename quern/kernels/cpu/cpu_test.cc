// Tiles: the emulation against sums in double and the order of sums that the hardware keeps, the machine code against the
// emulation (by the instructions where the processor has them, by AmxTrap elsewhere), and the choice of products.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "quern/base/cpu.h"
#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/kernels/cpu/amx.h"
#include "quern/kernels/cpu/amx_trap.h"
#include "quern/kernels/cpu/products.h"

namespace quern::kernels {
namespace {

using Bytes = std::vector<uint8_t>;

float wide(uint16_t u) {
  const uint32_t bits = uint32_t{u} << 16;
  float f;
  std::memcpy(&f, &bits, sizeof f);
  return f;
}
uint16_t narrow(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, sizeof bits);
  return static_cast<uint16_t>(bits >> 16);
}

// bf16 values of kinds that go wrong in different ways.
enum class Kind { unit, wide_exponents, near_subnormal, any_bits };
Bytes values(int64_t n, Kind kind, uint64_t seed) {
  Rng rng(seed);
  Bytes r(static_cast<size_t>(2 * n));
  for (int64_t i = 0; i < n; ++i) {
    const auto sign = static_cast<float>(rng.uniform() < 0.5 ? -1 : 1);
    uint16_t u = static_cast<uint16_t>(rng.next());
    if (kind == Kind::unit) u = narrow(sign * static_cast<float>(rng.uniform()));
    if (kind == Kind::wide_exponents) u = narrow(sign * std::exp2(static_cast<float>(rng.uniform() * 60 - 30)));
    if (kind == Kind::near_subnormal) u = narrow(sign * std::exp2(static_cast<float>(rng.uniform() * 20 - 72)));
    std::memcpy(r.data() + 2 * i, &u, 2);
  }
  return r;
}

TEST(Amx, EmulationSumsTheProducts) {
  const Bytes a = values(512, Kind::unit, 1), b = values(512, Kind::unit, 2);
  std::vector<float> c(256, 0.5f);
  amx_dot_bf16(a.data(), 64, b.data(), 64, c.data());
  const auto at = [](const Bytes& x, int64_t i) {
    uint16_t u;
    std::memcpy(&u, x.data() + 2 * i, 2);
    return static_cast<double>(wide(u));
  };
  for (int64_t m = 0; m < 16; ++m)
    for (int64_t n = 0; n < 16; ++n) {
      double sum = 0.5, size = 0.5;
      for (int64_t k = 0; k < 32; ++k) {
        const double product = at(a, 32 * m + k) * at(b, 32 * (k / 2) + 2 * n + k % 2);
        sum += product, size += std::abs(product);
      }
      EXPECT_NEAR(static_cast<double>(c[static_cast<size_t>(16 * m + n)]), sum, 32 * 0x1p-24 * size);
    }
}

// One row, one column: even and odd values of k apart, fused, then together, then onto C.
TEST(Amx, EmulationKeepsTheOrderOfSums) {
  const auto one = [](const std::vector<float>& x, const std::vector<float>& w, float c) {
    Bytes a(1024), b(1024);
    for (size_t k = 0; k < x.size(); ++k) {
      const uint16_t u = narrow(x[k]), v = narrow(w[k]);
      std::memcpy(a.data() + 2 * k, &u, 2);
      std::memcpy(b.data() + 64 * (k / 2) + 2 * (k % 2), &v, 2);
    }
    std::vector<float> sums(256, 0.0f);
    sums[0] = c;
    amx_dot_bf16(a.data(), 64, b.data(), 64, sums.data());
    return sums[0];
  };
  const float tiny = 0x1p-24f;
  // In the even chain 1 swallows 2⁻²⁴ (a tie goes to even); in the odd one they meet first and count together.
  EXPECT_EQ(one({1, 0, tiny, 0, tiny, 0}, {1, 1, 1, 1, 1, 1}, 0), 1.0f);
  EXPECT_EQ(one({1, tiny, 0, tiny}, {1, 1, 1, 1}, 0), 1 + 2 * tiny);
  EXPECT_EQ(one({tiny, tiny}, {1, 1}, 1), 1 + 2 * tiny) << "C comes last";
  // A product is not rounded before it is added.
  const float x = 1 + 0x1p-7f;
  EXPECT_EQ(one({-1, 0, x}, {1, 0, x}, 0), static_cast<float>(double{x} * double{x} - 1));
  EXPECT_EQ(one({0x1p-130f}, {0x1p30f}, 0), 0.0f) << "a subnormal counts as zero";
  EXPECT_EQ(one({0x1p-70f}, {0x1p-60f}, 0), 0.0f) << "and becomes zero";
  EXPECT_EQ(one({1}, {1}, 0x1p-130f), 1.0f);
  EXPECT_TRUE(std::isnan(one({std::numeric_limits<float>::infinity()}, {0}, 0)));
}

TEST(Amx, EmulationOfBytesWrapsAround) {
  Bytes a(1024, 255), b(1024, 0x80);
  std::vector<int32_t> c(256, std::numeric_limits<int32_t>::min() + 5);
  amx_dot_bytes(a.data(), 64, b.data(), 64, c.data());
  EXPECT_EQ(c[0], static_cast<int32_t>(0x80000005u - 64u * 255u * 128u));
  b.assign(1024, 1), c.assign(256, 0);
  amx_dot_bytes(a.data(), 64, b.data(), 64, c.data());
  EXPECT_EQ(c[255], 64 * 255);
}

// Runs a block of a table on operands with strides and returns the tiles of C.
Bytes run(const AmxKernels& k, void (*block)(const AmxBlock&), Kind kind, bool add, int64_t steps, bool tiles) {
  const int64_t strip = (steps + 1) * kAmxTile;  // a gap between strips
  const Bytes a = values(strip, kind, 3), panel = values(steps * 2048, kind, 4);
  Bytes b = panel, c = values(4096, Kind::unit, 5);
  if (tiles) k.to_tiles(panel.data(), steps, b.data());
  k.configure();
  block({.a = a.data(),
         .a_strip = strip,
         .a_step = kAmxTile,
         .b = b.data(),
         .b_tile = tiles ? 1024 : 64,
         .b_step = 4096,
         .b_row = tiles ? 64 : 256,
         .c = c.data(),
         .c_strip = 4096,
         .steps = steps,
         .add = add,
         .ahead = add ? 0 : 4096});
  k.release();
  return c;
}

// NaN compared as NaN: which one comes out is nobody's promise.
bool same(const Bytes& x, const Bytes& y, bool floats) {
  for (size_t i = 0; i < x.size(); i += 4) {
    float f, g;
    std::memcpy(&f, x.data() + i, 4), std::memcpy(&g, y.data() + i, 4);
    if (std::memcmp(x.data() + i, y.data() + i, 4) != 0 && !(floats && std::isnan(f) && std::isnan(g))) return false;
  }
  return true;
}

void compare_with_emulation() {
  const AmxKernels &code = amx_kernels_amx(), &emulated = amx_kernels_emulated();
  for (Kind kind : {Kind::unit, Kind::wide_exponents, Kind::near_subnormal, Kind::any_bits})
    for (bool add : {false, true})
      for (bool tiles : {false, true})
        for (int64_t steps : {0, 1, 5}) {
          for (auto block : {&AmxBlocks::two_by_two, &AmxBlocks::one_by_two, &AmxBlocks::one_by_four}) {
            EXPECT_TRUE(same(run(code, code.bf16.*block, kind, add, steps, tiles),
                             run(emulated, emulated.bf16.*block, kind, add, steps, tiles), true));
            EXPECT_TRUE(same(run(code, code.bytes.*block, kind, add, steps, tiles),
                             run(emulated, emulated.bytes.*block, kind, add, steps, tiles), false));
          }
        }
}

TEST(Amx, MachineCodeGivesTheBitsOfTheEmulation) {
  if (detected_isa() < Isa::avx512) GTEST_SKIP() << "the copies around the tiles are AVX-512";
  if (has_amx()) return compare_with_emulation();
  AmxTrap trap;
  compare_with_emulation();
  EXPECT_GT(AmxTrap::count(), 1000);
  EXPECT_FALSE(AmxTrap::configured());
}

TEST(Bf16Products, AreNamedAndChosenOnce) {
  for (Bf16Products p : {Bf16Products::fma, Bf16Products::vdpbf16, Bf16Products::amx, Bf16Products::emulated})
    EXPECT_EQ(parse_bf16_products(bf16_products_name(p)), p);
  EXPECT_THROW(parse_bf16_products("avx"), Error);
  EXPECT_FALSE(bf16_choice_reason().empty());
  EXPECT_TRUE(has_bf16_products(bf16_products()));
}

TEST(Bf16Products, FollowTheInstructionSet) {
  const Isa isa = active_isa();
  for (Bf16Products p : {Bf16Products::fma, Bf16Products::vdpbf16, Bf16Products::amx, Bf16Products::emulated}) {
    if (!has_bf16_products(p)) {
      EXPECT_THROW(set_bf16_products(p), Error);
      continue;
    }
    const Bf16ProductsScope scope(p);
    EXPECT_EQ(bf16_products(), p);
    set_active_isa(Isa::ref);
    EXPECT_EQ(bf16_products(), Bf16Products::fma);
    if (detected_isa() >= Isa::avx2) {
      set_active_isa(Isa::avx2);
      EXPECT_EQ(bf16_products(), p == Bf16Products::emulated ? p : Bf16Products::fma);
    }
    set_active_isa(isa);
  }
}

// Whatever was chosen, it is not slower than what everybody has. The loops run in turn, each several times, and the
// best counts: only a table that is wrong about this processor fails here.
TEST(Bf16Products, ChosenOnesAreNotSlowerThanFma) {
  const ProductRates r = measure_product_rates();
  if (detected_isa() < Isa::avx2) GTEST_SKIP() << "no fast products here";
  EXPECT_GT(r.fma, 0);
  EXPECT_EQ(r.vdpbf16 > 0, has_bf16_products(Bf16Products::vdpbf16));
  EXPECT_EQ(r.amx_bf16 > 0, has_amx());
  EXPECT_EQ(r.amx_int8 > 0, has_amx());
  const Bf16Products p = bf16_products();
  const double chosen = p == Bf16Products::vdpbf16 ? r.vdpbf16 : p == Bf16Products::amx ? r.amx_bf16 : r.fma;
  EXPECT_GT(chosen, 0.8 * r.fma) << bf16_choice_reason();
}

}  // namespace
}  // namespace quern::kernels
