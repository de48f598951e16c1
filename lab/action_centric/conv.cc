#include "lab/action_centric/conv.h"

#include <algorithm>
#include <cmath>

#include "lab/action_centric/adam.h"
#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/kernels/gemm/gemm.h"

namespace quern::lab {
namespace {

constexpr int64_t kKernel = 3, kTaps = kKernel * kKernel;

}  // namespace

template <class T>
HalvingConv<T>::HalvingConv(int64_t side, int64_t channels_in, int64_t channels_out, uint64_t seed)
    : side_(side), in_(channels_in), out_(channels_out) {
  QUERN_CHECK(side >= 1 && channels_in >= 1 && channels_out >= 1);
  Rng rng(seed);
  const int64_t wide = kTaps * in_;
  for (int64_t i = 0; i < out_ * wide; ++i)
    w_.push_back(static_cast<T>(rng.normal() * std::sqrt(2.0 / static_cast<double>(wide))));
  b_.resize(static_cast<size_t>(out_)), gw_.resize(w_.size()), gb_.resize(b_.size());
  m_.resize(w_.size() + b_.size()), v_.resize(m_.size());
}

template <class T>
template <class F>
void HalvingConv<T>::each_patch(int64_t batch, F&& f) const {
  const int64_t o = side_out();
  for (int64_t r = 0; r < batch; ++r)
    for (int64_t y = 0; y < o; ++y)
      for (int64_t x = 0; x < o; ++x)
        for (int64_t tap = 0; tap < kTaps; ++tap) {
          const int64_t from_y = 2 * y + tap / kKernel - 1, from_x = 2 * x + tap % kKernel - 1;
          if (from_y < 0 || from_y >= side_ || from_x < 0 || from_x >= side_) continue;
          f((((r * o + y) * o + x) * kTaps + tap) * in_, ((r * side_ + from_y) * side_ + from_x) * in_);
        }
}

template <class T>
std::span<const T> HalvingConv<T>::forward(std::span<const T> x, int64_t batch) {
  QUERN_CHECK(static_cast<int64_t>(x.size()) == batch * inputs());
  batch_ = batch;
  const int64_t rows = batch * side_out() * side_out(), wide = kTaps * in_;
  patches_.assign(static_cast<size_t>(rows * wide), T(0));
  each_patch(batch, [&](int64_t to, int64_t from) { std::copy_n(x.data() + from, in_, patches_.data() + to); });
  y_.resize(static_cast<size_t>(rows * out_));
  for (int64_t r = 0; r < rows; ++r) std::copy(b_.begin(), b_.end(), y_.begin() + r * out_);
  kernels::gemm<T>({patches_.data(), {rows, wide}}, {w_.data(), {out_, wide}}, {y_.data(), {rows, out_}},
                   {.trans_b = true, .beta = 1});
  for (T& y : y_) y = std::max(y, T(0));
  return y_;
}

template <class T>
std::span<const T> HalvingConv<T>::backward(std::span<const T> gy, WeightGradients weights) {
  const int64_t rows = batch_ * side_out() * side_out(), wide = kTaps * in_;
  QUERN_CHECK(static_cast<int64_t>(gy.size()) == rows * out_);
  gy_.assign(gy.begin(), gy.end());
  for (size_t i = 0; i < gy_.size(); ++i)
    if (y_[i] <= 0) gy_[i] = 0;
  if (weights == WeightGradients::add) {
    kernels::gemm<T>({gy_.data(), {rows, out_}}, {patches_.data(), {rows, wide}}, {gw_.data(), {out_, wide}},
                     {.trans_a = true, .beta = 1});
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < out_; ++j) gb_[static_cast<size_t>(j)] += gy_[static_cast<size_t>(r * out_ + j)];
  }
  kernels::gemm<T>({gy_.data(), {rows, out_}}, {w_.data(), {out_, wide}}, {patches_.data(), {rows, wide}});
  gx_.assign(static_cast<size_t>(batch_ * inputs()), T(0));
  each_patch(batch_, [&](int64_t from, int64_t to) {
    for (int64_t c = 0; c < in_; ++c) gx_[static_cast<size_t>(to + c)] += patches_[static_cast<size_t>(from + c)];
  });
  return gx_;
}

template <class T>
void HalvingConv<T>::step(double lr) {
  adam_step<T>({{w_, gw_}, {b_, gb_}}, m_, v_, ++steps_, lr);
}

template class HalvingConv<float>;
template class HalvingConv<double>;

}  // namespace quern::lab
