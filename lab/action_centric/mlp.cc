#include "lab/action_centric/mlp.h"

#include <algorithm>
#include <cmath>

#include "lab/action_centric/adam.h"
#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/kernels/gemm/gemm.h"

namespace quern::lab {

template <class T>
Mlp<T>::Mlp(std::vector<int64_t> widths, uint64_t seed) {
  QUERN_CHECK(widths.size() >= 2);
  for (size_t i = 0; i + 1 < widths.size(); ++i) {
    Layer l{.in = widths[i],
            .out = widths[i + 1],
            .w = {},
            .b = {},
            .gw = {},
            .gb = {},
            .m = {},
            .v = {},
            .x = {},
            .y = {},
            .gx = {}};
    const auto n = static_cast<size_t>(l.in * l.out), out = static_cast<size_t>(l.out);
    Rng rng(seed, i);
    for (size_t k = 0; k < n; ++k)
      l.w.push_back(static_cast<T>(rng.normal() * std::sqrt(2.0 / static_cast<double>(l.in))));
    l.b.resize(out), l.gw.resize(n), l.gb.resize(out);
    l.m.resize(n + out), l.v.resize(n + out);
    layers_.push_back(std::move(l));
  }
}

template <class T>
std::span<const T> Mlp<T>::forward(std::span<const T> x, int64_t batch) {
  QUERN_CHECK(static_cast<int64_t>(x.size()) == batch * inputs(), "{} numbers for {} rows of {}", x.size(), batch,
              inputs());
  batch_ = batch;
  for (Layer& l : layers_) {
    l.x.assign(x.begin(), x.end());
    l.y.resize(static_cast<size_t>(batch * l.out));
    for (int64_t r = 0; r < batch; ++r) std::copy(l.b.begin(), l.b.end(), l.y.begin() + r * l.out);
    kernels::gemm<T>({l.x.data(), {batch, l.in}}, {l.w.data(), {l.out, l.in}}, {l.y.data(), {batch, l.out}},
                     {.trans_b = true, .beta = 1});
    if (&l != &layers_.back())
      for (T& y : l.y) y = std::max(y, T(0));
    x = l.y;
  }
  return x;
}

template <class T>
std::span<const T> Mlp<T>::backward(std::span<const T> gy, WeightGradients weights) {
  QUERN_CHECK(static_cast<int64_t>(gy.size()) == batch_ * outputs());
  gy_.assign(gy.begin(), gy.end());
  for (size_t i = layers_.size(); i-- > 0;) {
    Layer& l = layers_[i];
    if (i + 1 < layers_.size())
      for (size_t k = 0; k < gy_.size(); ++k)
        if (l.y[k] <= 0) gy_[k] = 0;
    if (weights == WeightGradients::add) {
      kernels::gemm<T>({gy_.data(), {batch_, l.out}}, {l.x.data(), {batch_, l.in}}, {l.gw.data(), {l.out, l.in}},
                       {.trans_a = true, .beta = 1});
      for (int64_t r = 0; r < batch_; ++r)
        for (int64_t j = 0; j < l.out; ++j) l.gb[static_cast<size_t>(j)] += gy_[static_cast<size_t>(r * l.out + j)];
    }
    l.gx.resize(static_cast<size_t>(batch_ * l.in));
    kernels::gemm<T>({gy_.data(), {batch_, l.out}}, {l.w.data(), {l.out, l.in}}, {l.gx.data(), {batch_, l.in}});
    gy_ = l.gx;
  }
  return layers_.front().gx;
}

template <class T>
void Mlp<T>::step(double lr) {
  ++steps_;
  for (Layer& l : layers_) adam_step<T>({{l.w, l.gw}, {l.b, l.gb}}, l.m, l.v, steps_, lr);
}

template <class T>
std::vector<std::span<T>> Mlp<T>::weights() {
  std::vector<std::span<T>> all;
  for (Layer& l : layers_) all.emplace_back(l.w), all.emplace_back(l.b);
  return all;
}
template <class T>
std::vector<std::span<T>> Mlp<T>::gradients() {
  std::vector<std::span<T>> all;
  for (Layer& l : layers_) all.emplace_back(l.gw), all.emplace_back(l.gb);
  return all;
}

template class Mlp<float>;
template class Mlp<double>;

}  // namespace quern::lab
