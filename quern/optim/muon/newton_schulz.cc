#include "quern/optim/muon/newton_schulz.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "quern/base/arena.h"
#include "quern/base/error.h"
#include "quern/base/threads.h"
#include "quern/kernels/gemm/gemm.h"
#include "quern/kernels/gemm/symmetric.h"

namespace quern::optim {
namespace {

struct Quintic {  // a·x + b·x³ + c·x⁵
  double a, b, c;
};
constexpr Quintic kPublished = {3.4445, -4.7750, 2.0315};
// Remez exchange on [0.0005, 1], then on what the step before leaves, [1 − e, (1 + e)·margin] with
// margins 1.06, 1.04, 1.03, 1.02, 1.01; the last serves further steps. Past the upper end these polynomials rise
// steeply, and rounding to bf16 does push values there: without margins a square of 64 normal numbers ended with a
// singular value of 49.
constexpr Quintic kMinimax[] = {{8.492261, -25.194694, 18.698187}, {3.983210, -2.633718, 0.436424},
                                {3.959505, -2.725252, 0.473660},   {3.638172, -2.568987, 0.472693},
                                {2.797521, -2.018256, 0.430126},   {2.007251, -1.375881, 0.377778},
                                {1.875000, -1.250000, 0.375000}};

Quintic coefficients(const NewtonSchulzOptions& o, int step) {
  if (o.coefficients == NewtonSchulzOptions::Coefficients::published) return kPublished;
  return kMinimax[std::min<size_t>(static_cast<size_t>(step), std::size(kMinimax) - 1)];
}

Quintic of_scaled(Quintic q, double f) { return {q.a * f, q.b * f * f * f, q.c * f * f * f * f * f}; }

constexpr int64_t kRowsAtOnce = 64;  // transposing 64 rows at a time writes whole lines

template <class T>
double norm(View<const T, 2> x) {  // row by row, rows in order: no thread count in it
  constexpr int64_t kChains = 8;
  double sum = 0;
  for (int64_t i = 0; i < x.shape[0]; ++i) {
    double part[kChains] = {};
    const T* row = x.row(i);
    int64_t j = 0;
    for (; j + kChains <= x.shape[1]; j += kChains)
      for (int64_t c = 0; c < kChains; ++c) {
        const double v = static_cast<float>(row[j + c]);
        part[c] += v * v;
      }
    for (; j < x.shape[1]; ++j)
      part[0] += static_cast<double>(static_cast<float>(row[j])) * static_cast<float>(row[j]);
    for (double p : part) sum += p;
  }
  return std::sqrt(sum);
}

// to[i, j] = factor·from, lying down if need be; what `to` has beyond it is zero.
template <class T>
void lay(View<const float, 2> from, float factor, bool turn, View<T, 2> to) {
  const int64_t m = from.shape[turn ? 1 : 0], k = from.shape[turn ? 0 : 1];
  parallel_for(to.shape[0], kRowsAtOnce, [&](int64_t begin, int64_t end) {
    for (int64_t i0 = begin; i0 < end; i0 += kRowsAtOnce) {
      const int64_t i1 = std::min(end, i0 + kRowsAtOnce), live = std::min(i1, m);
      if (turn)
        for (int64_t j = 0; j < k; ++j)
          for (int64_t i = i0; i < live; ++i) to(i, j) = T(factor * from(j, i));
      else
        for (int64_t i = i0; i < live; ++i)
          for (int64_t j = 0; j < k; ++j) to(i, j) = T(factor * from(i, j));
      for (int64_t i = i0; i < i1; ++i)
        for (int64_t j = i < m ? k : 0; j < to.shape[1]; ++j) to(i, j) = T(0.0f);
    }
  });
}

template <class T>
void take_up(View<const T, 2> from, bool turn, View<float, 2> to) {
  parallel_for(to.shape[0], kRowsAtOnce, [&](int64_t begin, int64_t end) {
    for (int64_t i0 = begin; i0 < end; i0 += kRowsAtOnce) {
      const int64_t i1 = std::min(end, i0 + kRowsAtOnce);
      if (turn)
        for (int64_t j = 0; j < to.shape[1]; ++j)
          for (int64_t i = i0; i < i1; ++i) to(i, j) = static_cast<float>(from(j, i));
      else
        for (int64_t i = i0; i < i1; ++i)
          for (int64_t j = 0; j < to.shape[1]; ++j) to(i, j) = static_cast<float>(from(i, j));
    }
  });
}

// next = a·x + b·x
void last_product(double a, View<const float, 2> b, View<const float, 2> x, View<float, 2> next) {
  parallel_for(x.shape[0], kRowsAtOnce, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) std::copy_n(x.row(i), x.shape[1], next.row(i));
  });
  kernels::gemm<float>(b, x, next, {.beta = a});
}
void last_product(double a, View<const bf16, 2> b, View<const bf16, 2> x, View<bf16, 2> next) {
  kernels::gemm_bf16(b, x, x, next, {.beta = a});
}

template <class T>
void iterate(View<float, 2> x, const NewtonSchulzOptions& o) {
  const bool turn = x.shape[0] > x.shape[1];
  // Rows and columns of zeros change nothing: bf16 products want even extents.
  constexpr int64_t kEach = static_cast<int64_t>(4 / sizeof(T));
  auto even = [](int64_t n) { return (n + kEach - 1) / kEach * kEach; };
  const int64_t m = even(std::min(x.shape[0], x.shape[1])), k = even(std::max(x.shape[0], x.shape[1]));
  Arena& arena = thread_arena();
  Arena::Scope scope(arena);
  auto take = [&](int64_t rows, int64_t columns) {
    return View<T, 2>(arena.take<T>(rows * columns).data(), {rows, columns});
  };
  View<T, 2> now = take(m, k), next = take(m, k), a = take(m, m), b = take(m, m);
  lay<T>(x, static_cast<float>(1 / (norm<float>(x) + 1e-7)), turn, now);
  for (int s = 0; s < o.steps; ++s) {
    kernels::symmetric_product<T>(now, {}, a);
    Quintic q = coefficients(o, s);
    if (s == 0 && o.coefficients == NewtonSchulzOptions::Coefficients::minimax)
      q = of_scaled(q, 1 / (1.01 * std::sqrt(norm<T>(a)) + 1e-7));
    kernels::symmetric_product<T>(a, a, b, {.alpha = q.c, .beta = q.b});
    last_product(q.a, b, now, next);
    std::swap(now, next);
  }
  take_up<T>(now, turn, x);
}

}  // namespace

void newton_schulz(View<float, 2> x, const NewtonSchulzOptions& o) {
  if (x.size() == 0) return;
  QUERN_CHECK(o.dtype == DType::bf16 || o.dtype == DType::f32, "Newton-Schulz in {}", dtype_name(o.dtype));
  o.dtype == DType::bf16 ? iterate<bf16>(x, o) : iterate<float>(x, o);
}

double newton_schulz_flops(int64_t rows, int64_t columns, int steps) {
  const double m = static_cast<double>(std::min(rows, columns)), k = static_cast<double>(std::max(rows, columns));
  return steps * (m * m * k + m * m * m + 2 * m * m * k);
}

double newton_schulz_plain_flops(int64_t rows, int64_t columns, int steps) {
  const double m = static_cast<double>(std::min(rows, columns)), k = static_cast<double>(std::max(rows, columns));
  return steps * (4 * m * m * k + 2 * m * m * m);
}

}  // namespace quern::optim
