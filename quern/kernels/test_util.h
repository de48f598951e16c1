// Kernel test helpers: reproducible inputs, strided buffers, every instruction set compared with the double reference,
// and finite differences.
//   Rows<T>       rows × width with a gap after each row, so that a wrong stride shows; the gap holds a sentinel
//   same_on_all_isas(op, tol)   op(T{}) runs one case and returns all its outputs; float on every instruction set is
//                 compared with double, which always runs the reference
//   check_gradient(loss, x, g)  ∂loss/∂x by central differences compared with g
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "quern/base/cpu.h"
#include "quern/base/rng.h"
#include "quern/tensor/view.h"

namespace quern::kernels {

constexpr double kSentinel = 1234.5;

template <class T>
struct Rows {
  int64_t rows, width, stride;
  std::vector<T> data;
  Rows(int64_t r, int64_t w, int64_t gap = 0)
      : rows(r), width(w), stride(w + gap), data(static_cast<size_t>(r * (w + gap)), T{0}) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t c = w; c < stride; ++c) data[static_cast<size_t>(i * stride + c)] = T{kSentinel};
  }
  // f32-representable values in [−scale, scale], so that float and double see the same input.
  static Rows random(int64_t r, int64_t w, uint64_t seed, int64_t gap = 0, double scale = 1) {
    Rows v(r, w, gap);
    Rng rng(seed);
    for (int64_t i = 0; i < r; ++i)
      for (int64_t c = 0; c < w; ++c)
        v.data[static_cast<size_t>(i * v.stride + c)] =
            static_cast<T>(static_cast<float>((2 * rng.uniform() - 1) * scale));
    return v;
  }
  View<T, 2> view() { return {data.data(), {rows, width}, {stride, 1}}; }
  View<const T, 2> in() { return view(); }
  View<T, 1> vec() { return {data.data(), {width}}; }  // the first row
  View<const T, 1> vec_in() { return vec(); }
  View<T, 3> heads(int64_t h) { return {data.data(), {rows, h, width / h}, {stride, width / h, 1}}; }
  View<const T, 3> heads_in(int64_t h) { return heads(h); }
  bool gap_untouched() const {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t c = width; c < stride; ++c)
        if (data[static_cast<size_t>(i * stride + c)] != T{kSentinel}) return false;
    return true;
  }
};

struct Outputs {
  std::vector<double> values;
  template <class T>
  void add(Rows<T>& r) {
    EXPECT_TRUE(r.gap_untouched());
    for (int64_t i = 0; i < r.rows; ++i)
      for (int64_t c = 0; c < r.width; ++c) values.push_back(static_cast<double>(r.view()(i, c)));
  }
};

class IsaScope {
 public:
  explicit IsaScope(Isa isa) : before_(active_isa()) { set_active_isa(isa); }
  ~IsaScope() { set_active_isa(before_); }

 private:
  Isa before_;
};

template <class F>
void each_isa(F&& f) {
  for (Isa isa : {Isa::ref, Isa::avx2, Isa::avx512}) {
    if (isa > detected_isa()) continue;
    IsaScope scope(isa);
    SCOPED_TRACE(std::string(isa_name(isa)));
    f();
    if (!has_avx512_bf16()) continue;
    SCOPED_TRACE("without bf16 and byte products");
    allow_avx512_bf16(false);
    f();
    allow_avx512_bf16(true);
  }
}

inline void expect_near_all(std::span<const double> got, std::span<const double> want, double tol) {
  ASSERT_EQ(got.size(), want.size());
  int shown = 0;
  for (size_t i = 0; i < got.size() && shown < 5; ++i)
    if (!(std::abs(got[i] - want[i]) <= tol * (1 + std::abs(want[i])))) {
      ADD_FAILURE() << "output " << i << ": " << got[i] << ", expected " << want[i];
      ++shown;
    }
}

template <class Op>
void same_on_all_isas(Op&& op, double tol) {
  const Outputs want = op(double{});
  each_isa([&] { expect_near_all(op(float{}).values, want.values, tol); });
}

inline void check_gradient(const std::function<double()>& loss, std::span<double> x, std::span<const double> g,
                           double tol = 1e-7) {
  ASSERT_EQ(x.size(), g.size());
  constexpr double kStep = 1e-5;  // truncation ~1e-10, rounding ~1e-11 for losses of order one
  for (size_t i = 0; i < x.size(); ++i) {
    const double at = x[i];
    x[i] = at + kStep;
    const double up = loss();
    x[i] = at - kStep;
    const double down = loss();
    x[i] = at;
    EXPECT_NEAR(g[i], (up - down) / (2 * kStep), tol * (1 + std::abs(g[i]))) << "element " << i;
  }
}

// Σ weight ⊙ y, the loss whose gradient with respect to y is `weight`.
inline double weighted_sum(Rows<double>& y, Rows<double>& weight) {
  double s = 0;
  for (int64_t i = 0; i < y.rows; ++i)
    for (int64_t c = 0; c < y.width; ++c) s += y.view()(i, c) * weight.view()(i, c);
  return s;
}

}  // namespace quern::kernels
