#include "quern/mixers/ssm_state.h"

#include "quern/nn/dispatch.h"

namespace quern::mixers {

Tensor taps_outermost(const Tensor& w) {
  const int64_t C = w.dim(0), K = w.dim(2);
  Tensor out = Tensor::empty({K, C}, w.dtype());
  nn::with_float(w.dtype(), [&]<class T>() {
    for (int64_t c = 0; c < C; ++c)
      for (int64_t j = 0; j < K; ++j) out.data<T>()[j * C + c] = w.data<T>()[c * K + j];
  });
  return out;
}

Tensor taps_innermost(const Tensor& w) {
  const int64_t K = w.dim(0), C = w.dim(1);
  Tensor out = Tensor::empty({C, 1, K}, w.dtype());
  nn::with_float(w.dtype(), [&]<class T>() {
    for (int64_t c = 0; c < C; ++c)
      for (int64_t j = 0; j < K; ++j) out.data<T>()[c * K + j] = w.data<T>()[j * C + c];
  });
  return out;
}

}  // namespace quern::mixers
