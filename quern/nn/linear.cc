#include "quern/nn/linear.h"

#include "quern/nn/dispatch.h"
#include "quern/nn/ops.h"

namespace quern {

Linear::Linear(int64_t n, int64_t k, bool with_bias, Init init) : weight({n, k}, init) {
  weight.matrix = true;
  if (with_bias) bias = Parameter({n}, Init::constant(0));
}

void Linear::visit(const std::string& prefix, const ParameterVisitor& v) {
  v(prefix + ".weight", weight);
  if (bias.defined()) v(prefix + ".bias", bias);
}

void Linear::pack(DType t) {
  if (t == DType::f64) return;
  packed = kernels::PackedLinear::pack(weight.value, t);
  weight.value = Tensor();
}

Var linear(Tape& tape, const Var& x_TK, const Var& w_NK) {
  Tensor x = x_TK.value, w = w_NK.value.to(x.dtype());
  Tensor y = Tensor::empty({x.dim(0), w.dim(0)}, x.dtype());
  with_float(x.dtype(), [&]<class T>() { kernels::gemm<T>(x.view<const T, 2>(), w.view<const T, 2>(), y.view<T, 2>(), {.trans_b = true}); });
  return tape.record(y, {x_TK, w_NK}, [x, w](Grads& g) {
    with_float(x.dtype(), [&]<class T>() {
      auto gy = g.out().view<const T, 2>();
      if (g.wants(0)) {
        Tensor gx = Tensor::empty(x.shape(), x.dtype());
        kernels::gemm<T>(gy, w.view<const T, 2>(), gx.view<T, 2>());
        g.add(0, gx);
      }
      if (g.wants(1)) kernels::gemm<T>(gy, x.view<const T, 2>(), g.accumulator(1).view<T, 2>(), {.trans_a = true, .beta = 1});
    });
  });
}

Var linear(Tape& tape, const Var& x_TK, Linear& l) {
  if (!tape.recording() && l.packed.defined()) {
    Tensor y = Tensor::empty({x_TK.dim(0), l.packed.n()}, DType::f32);
    Arena& scratch = thread_arena();
    Arena::Scope scope(scratch);
    View<const float, 1> b;
    if (l.bias.defined()) b = l.bias.value.view<const float, 1>();
    l.packed.apply(x_TK.value.view<const float, 2>(), b, y.view<float, 2>(), scratch);
    return y;
  }
  Var y = linear(tape, x_TK, tape.param(l.weight));
  return l.bias.defined() ? add_bias(tape, y, l.bias) : y;
}

}  // namespace quern
