// The loop behind every compute peak: independent chains of one instruction that never touch memory.
#pragma once
#include <cstdint>
#include <cstring>

#include "quern/kernels/cpu/peaks.h"

namespace quern::kernels {

// Op::start(i) is what chain i begins with, Op::step(x) the instruction, Op::add joins the chains at the end. Instantiate
// it with a type of an anonymous namespace: each file is compiled for another instruction set.
// The pragmas matter: an array indexed by a loop variable would live on the stack.
template <class Op, class Out>
Out peak_loop(int64_t steps) {
  decltype(Op::start(0)) acc[kPeakAccumulators];
#pragma GCC unroll 12
  for (int i = 0; i < kPeakAccumulators; ++i) acc[i] = Op::start(i);
  for (int64_t s = 0; s < steps; ++s)
#pragma GCC unroll 12
    for (int i = 0; i < kPeakAccumulators; ++i) {
      acc[i] = Op::step(acc[i]);
      asm volatile("" : "+v"(acc[i]));  // keeps the compiler from folding steps together
    }
  auto sum = acc[0];
#pragma GCC unroll 12
  for (int i = 1; i < kPeakAccumulators; ++i) sum = Op::add(sum, acc[i]);
  Out first;
  std::memcpy(&first, &sum, sizeof(first));
  return first;
}

}  // namespace quern::kernels
