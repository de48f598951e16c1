#include "quern/nn/frozen_linear.h"

#include "quern/base/threads.h"
#include "quern/trace/trace.h"

namespace quern::nn {
namespace {

constexpr int64_t kBlockElements = 1 << 21;  // of W in f32 at a time: 8 MiB, read back from the last cache

// gx (+)= gy·W[begin : begin + n]
void add_input_gradient(const kernels::PrepackedWeight& w, int64_t begin, View<const float, 2> gy, View<float, 2> gx,
                        bool bf16, bool first) {
  const int64_t n = gy.shape[1], k = w.k(), rows = std::clamp<int64_t>(kBlockElements / k, 1, n);
  Tensor block = Tensor::empty({rows, k}, DType::f32);
  for (int64_t at = 0; at < n; at += rows) {
    const int64_t count = std::min(rows, n - at);
    const Tensor part = block.narrow(0, 0, count);
    unpack_rows(w, begin + at, part.view<float, 2>());
    const View<const float, 2> columns(gy.data + at, {gy.shape[0], count}, {gy.stride[0], 1});
    kernels::gemm<float>(columns, part.view<const float, 2>(), gx,
                         {.beta = first && at == 0 ? 0.0 : 1.0, .bf16 = bf16});
  }
}

}  // namespace

void unpack_rows(const kernels::PrepackedWeight& w, int64_t begin, View<float, 2> out) {
  constexpr int64_t kGrain = 8192;  // elements worth a thread
  parallel_for(out.shape[0], kGrain / out.shape[1] + 1, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) w.row(begin + i, {out.row(i), {out.shape[1]}});
  });
}

Tensor unpacked(const kernels::PrepackedWeight& w) {
  Tensor all = Tensor::empty({w.n(), w.k()}, DType::f32);
  unpack_rows(w, 0, all.view<float, 2>());
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
    bool first = true;
    for (int64_t at = 0, i = 0; int64_t n : widths) {
      const int o = static_cast<int>(i++);
      if (g.has_out(o)) {
        add_input_gradient(w, at, g.out(o).view<const float, 2>(), gx.view<float, 2>(), bf16, first);
        first = false;
      }
      at += n;
    }
    g.add(0, gx);
  });
}

}  // namespace quern::nn
