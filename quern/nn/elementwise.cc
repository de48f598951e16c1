// Elementwise operations and their gradients.
#include "quern/nn/dispatch.h"
#include "quern/nn/ops.h"
#include "quern/nn/rows.h"
#include "quern/trace/trace.h"

namespace quern::nn {
namespace {

template <class T>
View<const T, 2> rows_of(const Tensor& t) {
  return t.reshape({-1, t.dim(-1)}).view<const T, 2>();
}
template <class T>
View<T, 2> rows_of_out(const Tensor& t) {
  return t.reshape({-1, t.dim(-1)}).view<T, 2>();
}

template <class T>
Tensor product(const Tensor& a, const Tensor& b) {
  Tensor y = Tensor::empty(a.shape(), a.dtype());
  for_rows<T>({a, b}, y, [](const T* const* in, T* out, int64_t D) {
    for (int64_t c = 0; c < D; ++c) out[c] = in[0][c] * in[1][c];
  });
  return y;
}

}  // namespace

grad::Var add(grad::Tape& tape, const grad::Var& a, const grad::Var& b) {
  const trace::Span span(trace::Kind::operation, "elementwise");
  Tensor y = Tensor::empty(a.value.shape(), a.dtype());
  with_float(a.dtype(), [&]<class T>() {
    for_rows<T>({a.value, b.value}, y, [](const T* const* in, T* out, int64_t D) {
      for (int64_t c = 0; c < D; ++c) out[c] = in[0][c] + in[1][c];
    });
  });
  return tape.record(y, {a, b}, [](grad::Grads& g) {
    g.add(0, g.out());
    g.add(1, g.out());
  });
}

grad::Var mul(grad::Tape& tape, const grad::Var& a, const grad::Var& b) {
  const trace::Span span(trace::Kind::operation, "elementwise");
  Tensor x = a.value, z = b.value;
  return with_float(x.dtype(), [&]<class T>() {
    return tape.record(product<T>(x, z), {a, b}, [x, z](grad::Grads& g) {
      if (g.wants(0)) g.add(0, product<T>(g.out(), z));
      if (g.wants(1)) g.add(1, product<T>(g.out(), x));
    });
  });
}

grad::Var scale(grad::Tape& tape, const grad::Var& a, double factor) {
  const trace::Span span(trace::Kind::operation, "elementwise");
  return with_float(a.dtype(), [&]<class T>() {
    auto scaled = [factor](const Tensor& x) {
      Tensor y = Tensor::empty(x.shape(), x.dtype());
      for_rows<T>({x}, y, [k = static_cast<T>(factor)](const T* const* in, T* out, int64_t D) {
        for (int64_t c = 0; c < D; ++c) out[c] = k * in[0][c];
      });
      return y;
    };
    return tape.record(scaled(a.value), {a}, [scaled](grad::Grads& g) { g.add(0, scaled(g.out())); });
  });
}

grad::Var add_bias(grad::Tape& tape, const grad::Var& x_TD, grad::Parameter& b_D) {
  const trace::Span span(trace::Kind::operation, "elementwise");
  grad::Var b = tape.param(b_D);
  Tensor y = Tensor::empty(x_TD.value.shape(), x_TD.dtype());
  return with_float(y.dtype(), [&]<class T>() {
    for_rows<T>({x_TD.value}, y, [bp = b.value.data<T>()](const T* const* in, T* out, int64_t D) {
      for (int64_t c = 0; c < D; ++c) out[c] = in[0][c] + bp[c];
    });
    return tape.record(y, {x_TD, b}, [](grad::Grads& g) {
      g.add(0, g.out());
      if (g.wants(1)) add_column_sums<T>(rows_of<T>(g.out()), {}, g.accumulator(1).template view<T, 1>());
    });
  });
}

grad::Var mul_columns(grad::Tape& tape, const grad::Var& x_TD, grad::Parameter& s_D) {
  const trace::Span span(trace::Kind::operation, "elementwise");
  grad::Var s = tape.param(s_D);
  Tensor x = x_TD.value, sv = s.value;
  return with_float(x.dtype(), [&]<class T>() {
    auto scaled = [sv](const Tensor& v) {
      Tensor y = Tensor::empty(v.shape(), v.dtype());
      for_rows<T>({v}, y, [sp = sv.data<T>()](const T* const* in, T* out, int64_t D) {
        for (int64_t c = 0; c < D; ++c) out[c] = in[0][c] * sp[c];
      });
      return y;
    };
    return tape.record(scaled(x), {x_TD, s}, [x, scaled](grad::Grads& g) {
      if (g.wants(0)) g.add(0, scaled(g.out()));
      if (g.wants(1)) add_column_sums<T>(rows_of<T>(g.out()), rows_of<T>(x), g.accumulator(1).template view<T, 1>());
    });
  });
}

grad::Var mul_rows(grad::Tape& tape, const grad::Var& x_TD, const grad::Var& p_T1) {
  const trace::Span span(trace::Kind::operation, "elementwise");
  Tensor x = x_TD.value, p = p_T1.value;
  return with_float(x.dtype(), [&]<class T>() {
    auto scaled = [p](const Tensor& v) {
      Tensor y = v.clone();
      int64_t D = v.dim(1);
      T* d = y.data<T>();
      for (int64_t t = 0; t < v.dim(0); ++t)
        for (int64_t c = 0; c < D; ++c) d[t * D + c] *= p.data<T>()[t];
      return y;
    };
    return tape.record(scaled(x), {x_TD, p_T1}, [x, p, scaled](grad::Grads& g) {
      if (g.wants(0)) g.add(0, scaled(g.out()));
      if (!g.wants(1)) return;
      Tensor gp = Tensor::zeros(p.shape(), p.dtype());
      const T *gy = g.out().data<T>(), *xp = x.data<T>();
      for (int64_t t = 0, D = x.dim(1); t < x.dim(0); ++t)
        for (int64_t c = 0; c < D; ++c) gp.data<T>()[t] += gy[t * D + c] * xp[t * D + c];
      g.add(1, gp);
    });
  });
}

grad::Var slice_columns(grad::Tape& tape, const grad::Var& x_TD, int64_t begin, int64_t n) {
  const trace::Span span(trace::Kind::operation, "elementwise");
  Shape shape = x_TD.value.shape();
  return tape.record(x_TD.value.narrow(1, begin, n).clone(), {x_TD}, [shape, begin, n](grad::Grads& g) {
    Tensor gx = Tensor::zeros(shape, g.out().dtype());
    gx.narrow(1, begin, n).copy_from(g.out());
    g.add(0, gx);
  });
}

grad::Var concat_columns(grad::Tape& tape, const std::vector<grad::Var>& parts) {
  const trace::Span span(trace::Kind::operation, "elementwise");
  int64_t width = 0;
  for (const grad::Var& p : parts) width += p.dim(1);
  Tensor y = Tensor::empty({parts[0].dim(0), width}, parts[0].dtype());
  std::vector<int64_t> begin;
  for (int64_t at = 0; const grad::Var& p : parts) {
    begin.push_back(at);
    y.narrow(1, at, p.dim(1)).copy_from(p.value);
    at += p.dim(1);
  }
  begin.push_back(width);
  return tape.record(y, parts, [begin](grad::Grads& g) {
    for (size_t i = 0; i + 1 < begin.size(); ++i)
      if (g.wants(static_cast<int>(i)))
        g.add(static_cast<int>(i), g.out().narrow(1, begin[i], begin[i + 1] - begin[i]).clone());
  });
}

grad::Var activate(grad::Tape& tape, kernels::Activation a, const grad::Var& x_TD) {
  const trace::Span span(trace::Kind::operation, "elementwise");
  Tensor x = x_TD.value, y = Tensor::empty(x.shape(), x.dtype());
  return with_float(x.dtype(), [&]<class T>() {
    kernels::activate<T>(a, rows_of<T>(x), rows_of_out<T>(y));
    return tape.record(y, {x_TD}, [a, x](grad::Grads& g) {
      Tensor gx = Tensor::empty(x.shape(), x.dtype());
      kernels::activate_backward<T>(a, rows_of<T>(x), rows_of<T>(g.out()), rows_of_out<T>(gx));
      g.add(0, gx);
    });
  });
}

grad::Var gated(grad::Tape& tape, kernels::Activation a, const grad::Var& gate_up_T2F) {
  const trace::Span span(trace::Kind::operation, "elementwise");
  Tensor x = gate_up_T2F.value, y = Tensor::empty({x.dim(0), x.dim(1) / 2}, x.dtype());
  return with_float(x.dtype(), [&]<class T>() {
    kernels::gated<T>(a, x.view<const T, 2>(), y.view<T, 2>());
    return tape.record(y, {gate_up_T2F}, [a, x](grad::Grads& g) {
      Tensor gx = Tensor::empty(x.shape(), x.dtype());
      kernels::gated_backward<T>(a, x.view<const T, 2>(), g.out().view<const T, 2>(), gx.view<T, 2>());
      g.add(0, gx);
    });
  });
}

grad::Var sum(grad::Tape& tape, const grad::Var& x) {
  const trace::Span span(trace::Kind::operation, "elementwise");
  Shape shape = x.value.shape();
  return with_float(x.dtype(), [&]<class T>() {
    double total = 0;
    for (T v : x.value.span<T>()) total += v;
    return tape.record(Tensor::full({1}, x.dtype(), total), {x},
                       [shape](grad::Grads& g) { g.add(0, Tensor::full(shape, g.out().dtype(), g.out().item())); });
  });
}

grad::Var reshape(grad::Tape& tape, const grad::Var& x, Shape shape) {
  Shape before = x.value.shape();
  return tape.record(x.value.contiguous_copy_if_needed().reshape(std::move(shape)), {x},
                     [before](grad::Grads& g) { g.add(0, g.out().contiguous_copy_if_needed().reshape(before)); });
}

}  // namespace quern::nn
