// Rotary positions on a tape. Backward rotates the gradient by the opposite angle; a magnitude scales both ways.
#include "quern/kernels/rope/rope.h"

#include "quern/nn/dispatch.h"
#include "quern/nn/ops.h"
#include "quern/trace/trace.h"

namespace quern::nn {

grad::Var rope(grad::Tape& tape, const grad::Var& x_THd, const kernels::RopeAngles& angles,
               kernels::RopePairing pairing) {
  const trace::Span span(trace::Kind::operation, "rotary embedding");
  if (angles.inv_freq.empty()) return x_THd;
  Tensor x = x_THd.value, y = Tensor::empty(x.shape(), x.dtype());
  Shape table = {x.dim(0), static_cast<int64_t>(angles.inv_freq.size())};
  Tensor cos = Tensor::empty(table, x.dtype()), sin = Tensor::empty(table, x.dtype());
  return with_float(x.dtype(), [&]<class T>() {
    kernels::rope_table<T>(angles, cos.view<T, 2>(), sin.view<T, 2>());
    kernels::rope<T>(x.view<const T, 3>(), cos.view<const T, 2>(), sin.view<const T, 2>(), pairing,
                     kernels::RopeTurn::forward, y.view<T, 3>());
    return tape.record(y, {x_THd}, [cos, sin, pairing](grad::Grads& g) {
      Tensor gx = Tensor::empty(g.out().shape(), cos.dtype());
      kernels::rope<T>(g.out().view<const T, 3>(), cos.view<const T, 2>(), sin.view<const T, 2>(), pairing,
                       kernels::RopeTurn::inverse, gx.view<T, 3>());
      g.add(0, gx);
    });
  });
}

}  // namespace quern::nn
