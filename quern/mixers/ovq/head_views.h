// Views of one head's rows of a tensor [T, H, d], and of its span of a tensor [H, T].
#pragma once
#include "quern/tensor/tensor.h"

namespace quern::mixers {

template <class T>
View<T, 2> head_rows(const Tensor& x_THd, int64_t begin, int64_t end, int64_t h) {
  const auto x = x_THd.view<T, 3>();
  return {x.data + begin * x.stride[0] + h * x.stride[1], {end - begin, x.shape[2]}, {x.stride[0], 1}};
}

template <class T>
View<T, 1> head_span(const Tensor& x_HT, int64_t begin, int64_t end, int64_t h) {  // nothing of nothing
  if (!x_HT.defined()) return {};
  return {x_HT.data<std::remove_const_t<T>>() + h * x_HT.dim(1) + begin, {end - begin}};
}

}  // namespace quern::mixers
