#include "quern/nn/frozen_linear.h"

#include "quern/trace/trace.h"

namespace quern::nn {
Tensor unpacked(const kernels::PrepackedWeight& w) {
  Tensor all = Tensor::empty({w.n(), w.k()}, DType::f32);
  w.rows(0, all.view<float, 2>());
  return all;
}

std::vector<grad::Var> frozen_linear(grad::Tape& tape, const grad::Var& x_TK, const kernels::PrepackedWeight& w,
                                     const Tensor& bias, const std::vector<int64_t>& widths) {
  const trace::Span span(trace::Kind::operation, "linear");
  const Tensor x = x_TK.value;
  Tensor y = Tensor::empty({x.dim(0), w.n()}, DType::f32);
  {
    Arena& scratch = thread_arena();
    Arena::Scope scope(scratch);
    w.apply(x.view<const float, 2>(), bias.defined() ? bias.view<const float, 1>() : View<const float, 1>(),
            y.view<float, 2>(), scratch);
  }
  std::vector<Tensor> out;
  for (int64_t at = 0; int64_t n : widths) {
    const Tensor window = widths.size() == 1 ? y : y.narrow(1, at, n);
    out.push_back(tape.recording() ? window.contiguous_copy_if_needed() : window);
    at += n;
  }
  return tape.record_many(out, {x_TK}, [w, widths, shape = x.shape(), bf16 = tape.bf16()](grad::Grads& g) {
    Tensor gx = Tensor::empty(shape, DType::f32);
    Arena& scratch = thread_arena();
    bool first = true;
    for (int64_t at = 0, i = 0; int64_t n : widths) {
      const int o = static_cast<int>(i++);
      if (g.has_out(o)) {
        w.apply_transposed(g.out(o).view<const float, 2>(), at, gx.view<float, 2>(),
                           {.beta = first ? 0.0 : 1.0, .bf16 = bf16}, scratch);
        first = false;
      }
      at += n;
    }
    g.add(0, gx);
  });
}

}  // namespace quern::nn
