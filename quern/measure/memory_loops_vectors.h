// The loops on vectors of type Of::Vec, for the file of each instruction set.
#pragma once
#include <cstring>

#include "quern/measure/memory_loops.h"

namespace quern::measure {
namespace {

template <class Of>
struct Loops {
  using Vec = typename Of::Vec;
  static constexpr int64_t kLanes = sizeof(Vec) / sizeof(double);
  static constexpr double kScalar = 3;
  static Vec at(const double* p) { return *reinterpret_cast<const Vec*>(p); }
  static Vec& at(double* p) { return *reinterpret_cast<Vec*>(p); }

  static void copy(const double* a, double* c, int64_t n) {
    std::memcpy(c, a, static_cast<size_t>(n) * sizeof(double));
  }
  static void scale(const double* c, double* b, int64_t n) {
    for (int64_t i = 0; i < n; i += kLanes) at(b + i) = kScalar * at(c + i);
  }
  static void add(const double* a, const double* b, double* c, int64_t n) {
    for (int64_t i = 0; i < n; i += kLanes) at(c + i) = at(a + i) + at(b + i);
  }
  static void triad(const double* b, const double* c, double* a, int64_t n) {
    for (int64_t i = 0; i < n; i += kLanes) at(a + i) = at(b + i) + kScalar * at(c + i);
  }
  static double dot(const double* a, const double* b, int64_t n) {
    Vec s0{}, s1{}, s2{}, s3{};
    for (int64_t i = 0; i < n; i += 4 * kLanes) {
      s0 += at(a + i) * at(b + i), s1 += at(a + i + kLanes) * at(b + i + kLanes);
      s2 += at(a + i + 2 * kLanes) * at(b + i + 2 * kLanes), s3 += at(a + i + 3 * kLanes) * at(b + i + 3 * kLanes);
    }
    const Vec s = s0 + s1 + s2 + s3;
    double sum = 0;
    for (int64_t i = 0; i < kLanes; ++i) sum += s[i];
    return sum;
  }
  static constexpr MemoryLoops kAll{copy, scale, add, triad, dot};
};

}  // namespace
}  // namespace quern::measure
