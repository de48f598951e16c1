// The peaks of every instruction set this machine has, and the time one thread takes to answer another.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "quern/base/cpu.h"
#include "quern/base/threads.h"
#include "quern/host/host.h"

namespace quern {
namespace {

constexpr int kTries = 12;  // measured beside other processes: the best of a few is what the machine can do

double best(Bound b) {
  double most = 0;
  for (int i = 0; i < kTries; ++i) most = std::max(most, measure(b));
  return most;
}

// Billions of cycles a second, by a clock that shares nothing with measure(): each product of a chain waits for the
// one before it, and a 64-bit product takes three cycles on every x86-64 processor with AVX2.
double cycle_rate() {
  using Clock = std::chrono::steady_clock;
  constexpr int kProducts = 1 << 20;
  double most = 0;
  uint64_t x = 3, factor = 5;
  for (int i = 0; i < kTries; ++i) {
    const Clock::time_point begin = Clock::now();
    for (int k = 0; k < kProducts; ++k) {
      asm volatile("" : "+r"(x), "+r"(factor));
      x *= factor;
    }
    const double s = std::chrono::duration<double>(Clock::now() - begin).count();
    most = std::max(most, 3.0 * kProducts / s * 1e-9);
  }
  asm volatile("" : : "r"(x));
  return most;
}

// What no processor does: more than four vector instructions a cycle in a thread. A loop that the compiler took apart
// or that counts too much would do it. And a thread that is not starved does more than one in fifty cycles. Which of
// two number formats is faster differs between processors, so nothing is said of that.
void expect_possible(double rate, double operations_each, double cycles, std::string_view what) {
  ASSERT_TRUE(std::isfinite(rate)) << what;
  const double per_cycle = rate / operations_each / cycles / thread_count();
  EXPECT_LT(per_cycle, 4) << what << ": " << rate << " G/s at " << cycles << " GHz";
  EXPECT_GT(per_cycle, 0.02) << what << ": " << rate << " G/s at " << cycles << " GHz";
}

TEST(Host, PeaksArePossible) {
  const Isa before = active_isa();
  const double cycles = cycle_rate();
  ASSERT_GT(cycles, 0.1);
  ASSERT_LT(cycles, 20);
  double narrower = 0;
  for (Isa isa : {Isa::ref, Isa::avx2, Isa::avx512}) {
    if (isa > detected_isa()) continue;
    set_active_isa(isa);
    EXPECT_EQ(host_info().isa_active, isa_name(isa));
    const double lanes = isa == Isa::ref ? 4 : isa == Isa::avx2 ? 8 : 16;
    const double f32 = best(Bound::f32_flops), bf16 = best(Bound::bf16_flops), int8 = best(Bound::int8_ops);
    SCOPED_TRACE(isa_name(isa));
    expect_possible(f32, 2 * lanes, cycles, "f32");
    expect_possible(bf16, has_avx512_bf16() ? 64 : 2 * lanes, cycles, "bf16");
    expect_possible(int8, isa == Isa::ref ? 16 : 8 * lanes, cycles, "int8");
    if (!has_avx512_bf16()) {  // the same loop twice
      EXPECT_LT(bf16, 3 * f32);
      EXPECT_LT(f32, 3 * bf16);
    }
    // Twice as wide registers: some processors halve the clock or use both halves of a unit, none does worse.
    EXPECT_GT(f32, 0.5 * narrower);
    narrower = f32;
  }
  set_active_isa(before);
}

TEST(Host, ThreadsAnswerEachOther) {
  const int before = thread_count();
  set_thread_count(1);
  EXPECT_EQ(handoff_ns(), 0) << "nobody to answer";
  set_thread_count(2);
  const double ns = handoff_ns();
  EXPECT_GT(ns, 5);
  EXPECT_LT(ns, 1e9);
  set_thread_count(before);
}

}  // namespace
}  // namespace quern
