#include "quern/measure/memory_sweep.h"

#include <gtest/gtest.h>

#include <cmath>

#include "quern/base/cpu.h"
#include "quern/base/rng.h"
#include "quern/measure/memory_loops.h"
#include "quern/tensor/tensor.h"

namespace quern::measure {
namespace {

TEST(Plateaus, StepsOfAKnownCurve) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    std::vector<SizePoint> points;
    for (double size = 16384; size <= 1.01 * (256 << 20); size *= std::sqrt(2.0)) {
      double rate = size <= 33000 ? 200 : size <= 1.05e6 ? 90 : size <= 3.4e7 ? 40 : 15;
      rate *= std::exp(0.03 * rng.normal());
      if (rng.uniform() < 0.05) rate *= 0.6;  // another program's doing
      points.push_back({size, rate});
    }
    const std::vector<Plateau> found = find_plateaus(points);
    ASSERT_EQ(found.size(), 4u) << seed;
    const double knees[] = {32768, 1 << 20, 32 << 20}, rates[] = {200, 90, 40, 15};
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(found[i].value / rates[i], 1, 0.1) << seed;
    for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(std::log2(found[i].to / knees[i]), 0, 0.51) << seed;
  }
}

TEST(Plateaus, NoiseMakesNone) {
  Rng rng(1);
  std::vector<SizePoint> points;
  for (double size = 1; size < 1e6; size *= 2) points.push_back({size, 50 * std::exp(0.05 * rng.normal())});
  EXPECT_EQ(find_plateaus(points).size(), 1u);
  EXPECT_TRUE(find_plateaus({}).empty());
}

TEST(MemoryLoops, DoWhatTheirNamesSay) {
  constexpr int64_t kN = 96;
  for (const Isa isa : {Isa::ref, Isa::avx2, Isa::avx512}) {
    if (isa > detected_isa()) continue;
    const MemoryLoops& l = isa == Isa::avx512 ? kMemoryLoopsAvx512
                           : isa == Isa::avx2 ? kMemoryLoopsAvx2
                                              : kMemoryLoopsRef;
    Tensor ta = Tensor::zeros({kN}, DType::f64), tb = Tensor::zeros({kN}, DType::f64),
           tc = Tensor::zeros({kN}, DType::f64);
    double *a = ta.data<double>(), *b = tb.data<double>(), *c = tc.data<double>();
    for (int64_t i = 0; i < kN; ++i) a[i] = static_cast<double>(i), b[i] = 1;
    l.copy(a, c, kN);
    EXPECT_EQ(c[95], 95);
    l.scale(c, b, kN);
    EXPECT_EQ(b[95], 285);
    l.add(a, b, c, kN);
    EXPECT_EQ(c[95], 380);
    l.triad(b, c, a, kN);
    EXPECT_EQ(a[95], 285 + 3 * 380);
    double sum = 0;
    for (int64_t i = 0; i < kN; ++i) sum += b[i] * c[i];
    EXPECT_EQ(l.dot(b, c, kN), sum);  // whole numbers: exact in any order
  }
}

TEST(MemorySweep, EverySizeHasARate) {
  const MemorySweep m = sweep_memory({.max_bytes = 1 << 20, .reps = 1, .seconds = 1e-4});
  ASSERT_GE(m.curves.size(), 5u);
  for (const MemoryCurve& c : m.curves) {
    EXPECT_EQ(c.points.size(), 13u);
    for (const SizePoint& p : c.points) {
      EXPECT_GT(p.value, 0);
      EXPECT_LT(p.value, 1e5);
    }
    EXPECT_FALSE(c.plateaus.empty());
  }
  EXPECT_EQ(m.latency.size(), 13u);
  for (const StridePoint& s : m.strides) EXPECT_GT(s.ns, 0);
}

}  // namespace
}  // namespace quern::measure
