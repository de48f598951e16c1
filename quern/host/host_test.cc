// The peaks of every instruction set this machine has, and the time one thread takes to answer another.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <string_view>

#include "quern/base/cpu.h"
#include "quern/base/threads.h"
#include "quern/host/host.h"

namespace quern::host {
namespace {

// Processor time and not time by the wall: other processes may take their share of the machine while this runs.
double seconds_of(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Cycles a second, by something that shares nothing with measure(): each product of a chain waits for the one before
// it, and a 64-bit product takes three cycles on every x86-64 processor with AVX2.
double cycle_rate() {
  constexpr int kProducts = 1 << 20;
  double maximum = 0;
  uint64_t x = 3, factor = 5;
  for (int i = 0; i < 12; ++i) {
    const double begin = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    for (int k = 0; k < kProducts; ++k) {
      asm volatile("" : "+r"(x), "+r"(factor));
      x *= factor;
    }
    maximum = std::max(maximum, 3.0 * kProducts / (seconds_of(CLOCK_THREAD_CPUTIME_ID) - begin));
  }
  asm volatile("" : : "r"(x));
  return maximum;
}

// Operations in a cycle of one thread: the rate says how many there were in the time of the call, the clock of the
// process how many cycles they took. The least and the most of a few measurements; a broken one is broken every time.
struct PerCycle {
  double minimum = 1e300, maximum = 0;
};
PerCycle operations_per_cycle(Bound b, double cycles) {
  PerCycle r;
  measure(b);  // starts the threads
  for (int i = 0; i < 7; ++i) {
    const double begin = seconds_of(CLOCK_MONOTONIC), worked = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    const double rate = measure(b);
    const double s = seconds_of(CLOCK_MONOTONIC) - begin, busy = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - worked;
    const double per_cycle = 1e9 * rate * s / (busy * cycles);
    r.minimum = std::min(r.minimum, per_cycle), r.maximum = std::max(r.maximum, per_cycle);
  }
  return r;
}

// No processor starts more than four vector instructions a cycle in a thread; a loop that the compiler took apart, or
// one that counts too much, would seem to. And each of these loops does more than one in fifty cycles; plain ones are what
// the compiler makes of them, one number at a time if it likes. Which of two number formats is faster differs between
// processors, so nothing is said of that.
void expect_possible(PerCycle per_cycle, double operations_each, std::string_view what) {
  EXPECT_LT(per_cycle.minimum, 4 * operations_each) << what;
  EXPECT_GT(per_cycle.maximum, 0.02 * (active_isa() == Isa::ref ? 2 : operations_each)) << what;
}

TEST(Host, PeaksArePossible) {
  const Isa before = active_isa();
  const double cycles = cycle_rate();
  ASSERT_GT(cycles, 1e8);
  ASSERT_LT(cycles, 2e10);
  PerCycle narrower{0, 0};
  for (Isa isa : {Isa::ref, Isa::avx2, Isa::avx512}) {
    if (isa > detected_isa()) continue;
    SCOPED_TRACE(isa_name(isa));
    set_active_isa(isa);
    EXPECT_EQ(host_info().isa_active, isa_name(isa));
    const double lanes = isa == Isa::ref ? 4 : isa == Isa::avx2 ? 8 : 16;
    const PerCycle f32 = operations_per_cycle(Bound::f32_flops, cycles);
    const PerCycle bf16 = operations_per_cycle(Bound::bf16_flops, cycles);
    expect_possible(f32, 2 * lanes, "f32");
    expect_possible(bf16, has_avx512_bf16() ? 64 : 2 * lanes, "bf16");
    expect_possible(operations_per_cycle(Bound::int8_ops, cycles), isa == Isa::ref ? 16 : 8 * lanes, "int8");
    if (!has_avx512_bf16()) {  // the same loop twice
      EXPECT_LT(bf16.minimum, 2 * f32.maximum);
      EXPECT_LT(f32.minimum, 2 * bf16.maximum);
    }
    // Twice as wide registers: some processors halve the clock or use both halves of a unit, none does worse.
    EXPECT_GT(f32.maximum, 0.5 * narrower.minimum);
    narrower = f32;
  }
  set_active_isa(before);
}

TEST(Host, ThreadsAnswerEachOther) {
  const int before = thread_count();
  set_thread_count(1);
  EXPECT_EQ(wakeup_ns(), 0) << "nobody to answer";
  set_thread_count(2);
  const double ns = wakeup_ns();
  EXPECT_GT(ns, 5);
  EXPECT_LT(ns, 1e9);
  set_thread_count(before);
}

}  // namespace
}  // namespace quern::host
