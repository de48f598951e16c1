// The peaks of every instruction set this machine has, and the time one thread takes to answer another.
#include <gtest/gtest.h>

#include <algorithm>

#include "quern/base/cpu.h"
#include "quern/base/threads.h"
#include "quern/host/host.h"

namespace quern {
namespace {

// Measured beside other processes: the best of a few is what the machine can do.
double best(Bound b) {
  double most = 0;
  for (int i = 0; i < 12; ++i) most = std::max(most, measure(b));
  return most;
}

TEST(Host, NarrowerNumbersAreNotSlower) {
  const Isa before = active_isa();
  double f32_before = 0;
  for (Isa isa : {Isa::ref, Isa::avx2, Isa::avx512}) {
    if (isa > detected_isa()) continue;
    set_active_isa(isa);
    const double f32 = best(Bound::f32_flops), bf16 = best(Bound::bf16_flops), int8 = best(Bound::int8_ops);
    EXPECT_GT(f32, f32_before) << isa_name(isa) << ", wider registers than the one before";
    EXPECT_GT(bf16, 0.8 * f32) << isa_name(isa);
    EXPECT_GT(int8, isa == Isa::ref ? 0 : 0.8 * f32) << isa_name(isa);
    if (has_avx512_bf16()) {
      EXPECT_GT(bf16, 1.3 * f32);
      EXPECT_GT(int8, 1.3 * bf16);
    }
    f32_before = 0.8 * f32;
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
