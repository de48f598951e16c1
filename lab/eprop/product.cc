// Four terms per pass: a row of the result is read and written a quarter as often as with one.
#include "lab/eprop/product.h"

#include "quern/base/error.h"

namespace quern::lab {
namespace {

void check(const ProductShape& s, size_t a, size_t x, size_t y) {
  QUERN_CHECK(static_cast<int64_t>(a) == s.rows * s.columns && static_cast<int64_t>(x) == s.columns * s.batch &&
                  static_cast<int64_t>(y) == s.rows * s.batch,
              "[{}, {}] with {} columns of batch: {}, {} and {} numbers", s.rows, s.columns, s.batch, a, x, y);
}

// to += Σ_k factor(k) row k of `from`
template <class Factor>
void add_rows(int64_t terms, int64_t n, Factor factor, const double* __restrict from, double* __restrict to) {
  int64_t k = 0;
  for (; k + 4 <= terms; k += 4) {
    const double f0 = factor(k), f1 = factor(k + 1), f2 = factor(k + 2), f3 = factor(k + 3);
    const double *r0 = from + k * n, *r1 = r0 + n, *r2 = r1 + n, *r3 = r2 + n;
    for (int64_t b = 0; b < n; ++b) to[b] += (f0 * r0[b] + f1 * r1[b]) + (f2 * r2[b] + f3 * r3[b]);
  }
  for (; k < terms; ++k) {
    const double f = factor(k), *r = from + k * n;
    for (int64_t b = 0; b < n; ++b) to[b] += f * r[b];
  }
}

double dot(int64_t n, const double* x, const double* y) {
  double s[8] = {};
  int64_t b = 0;
  for (; b + 8 <= n; b += 8)
    for (int64_t k = 0; k < 8; ++k) s[k] += x[b + k] * y[b + k];
  double rest = 0;
  for (; b < n; ++b) rest += x[b] * y[b];
  return ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7])) + rest;
}

}  // namespace

void add_product(ProductShape s, ConstNumbers a, ConstNumbers x, Numbers y) {
  check(s, a.size(), x.size(), y.size());
  for (int64_t i = 0; i < s.rows; ++i)
    add_rows(
        s.columns, s.batch, [&](int64_t j) { return a.data()[i * s.columns + j]; }, x.data(), y.data() + i * s.batch);
}

void add_product_transposed(ProductShape s, ConstNumbers a, ConstNumbers y, Numbers x) {
  check(s, a.size(), x.size(), y.size());
  for (int64_t j = 0; j < s.columns; ++j)
    add_rows(
        s.rows, s.batch, [&](int64_t i) { return a.data()[i * s.columns + j]; }, y.data(), x.data() + j * s.batch);
}

void add_outer(ProductShape s, ConstNumbers y, ConstNumbers x, Numbers a) {
  check(s, a.size(), x.size(), y.size());
  for (int64_t i = 0; i < s.rows; ++i)
    for (int64_t j = 0; j < s.columns; ++j)
      a.data()[i * s.columns + j] += dot(s.batch, y.data() + i * s.batch, x.data() + j * s.batch);
}

}  // namespace quern::lab
