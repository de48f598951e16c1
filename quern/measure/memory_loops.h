// The five loops of memory benchmarks (McCalpin's STREAM, and a dot product) on double precision, in the instruction set
// that kernels use. n: a multiple of 32; arrays aligned to 64 bytes. Stores are ordinary ones; copy is memcpy, which
// writes around the caches where a copy is large.
#pragma once
#include <cstdint>

namespace quern::measure {

struct MemoryLoops {
  void (*copy)(const double* a, double* c, int64_t n);
  void (*scale)(const double* c, double* b, int64_t n);                   // b = s·c
  void (*add)(const double* a, const double* b, double* c, int64_t n);    // c = a + b
  void (*triad)(const double* b, const double* c, double* a, int64_t n);  // a = b + s·c
  double (*dot)(const double* a, const double* b, int64_t n);
};
extern const MemoryLoops kMemoryLoopsRef, kMemoryLoopsAvx2, kMemoryLoopsAvx512;

}  // namespace quern::measure
