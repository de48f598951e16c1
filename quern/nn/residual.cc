#include "quern/nn/residual.h"

#include "quern/base/threads.h"
#include "quern/nn/dispatch.h"
#include "quern/nn/rows.h"
#include "quern/trace/trace.h"

namespace quern::nn {
namespace {

// One branch's gradients: gx = gy·s (written), gb += Σ gy·s, gs += Σ gy·(x + b).
template <class T>
void branch_backward(const Tensor& x, const Tensor& s, const Tensor& b, grad::Grads& g, int ix, int is, int ib) {
  const Tensor& gy = g.out();
  int64_t rows = x.dim(0), D = x.dim(1);
  Tensor gx = g.wants(ix) ? Tensor::empty(x.shape(), x.dtype()) : Tensor();
  const T *xp = x.data<T>(), *sp = s.data<T>(), *bp = b.data<T>(), *gp = gy.data<T>();
  T* gxp = gx.defined() ? gx.data<T>() : nullptr;
  T* gs = g.wants(is) ? g.accumulator(is).data<T>() : nullptr;
  T* gb = g.wants(ib) ? g.accumulator(ib).data<T>() : nullptr;
  // Threads own columns, so that parameter gradients are summed in token order whatever the thread count.
  parallel_for(D, 256, [&](int64_t c0, int64_t c1) {
    for (int64_t t = 0; t < rows; ++t)
      for (int64_t c = c0; c < c1; ++c) {
        T gv = gp[t * D + c], through = gv * sp[c];
        if (gxp) gxp[t * D + c] = through;
        if (gb) gb[c] += through;
        if (gs) gs[c] += gv * (xp[t * D + c] + bp[c]);
      }
  });
  if (gx.defined()) g.add(ix, gx);
}

}  // namespace

ResidualScale::ResidualScale(int64_t width)
    : hidden_scale({width}, grad::Init::constant(1)),
      hidden_bias({width}, grad::Init::constant(0)),
      residual_scale({width}, grad::Init::constant(1)),
      residual_bias({width}, grad::Init::constant(0)) {}

void ResidualScale::visit(const std::string& prefix, const ParameterVisitor& v) {
  v(prefix + "hidden_states_scale", hidden_scale);
  v(prefix + "hidden_states_bias", hidden_bias);
  v(prefix + "residual_scale", residual_scale);
  v(prefix + "residual_bias", residual_bias);
}

grad::Var residual_merge(grad::Tape& tape, const grad::Var& o_TD, const grad::Var& r_TD, ResidualScale& s) {
  const trace::Span span(trace::Kind::operation, "elementwise");
  grad::Var hs = tape.param(s.hidden_scale), hb = tape.param(s.hidden_bias), rs = tape.param(s.residual_scale),
            rb = tape.param(s.residual_bias);
  Tensor o = o_TD.value, r = r_TD.value, y = Tensor::empty(o.shape(), o.dtype());
  with_float(o.dtype(), [&]<class T>() {
    const T *hsp = hs.value.data<T>(), *hbp = hb.value.data<T>(), *rsp = rs.value.data<T>(),
            *rbp = rb.value.data<T>();
    for_rows<T>({o, r}, y, [=](const T* const* in, T* out, int64_t D) {
      for (int64_t c = 0; c < D; ++c) out[c] = (in[0][c] + hbp[c]) * hsp[c] + (in[1][c] + rbp[c]) * rsp[c];
    });
  });
  Tensor hsv = hs.value, hbv = hb.value, rsv = rs.value, rbv = rb.value;
  return tape.record(y, {o_TD, r_TD, hs, hb, rs, rb}, [=](grad::Grads& g) {
    with_float(o.dtype(), [&]<class T>() {
      branch_backward<T>(o, hsv, hbv, g, 0, 2, 3);
      branch_backward<T>(r, rsv, rbv, g, 1, 4, 5);
    });
  });
}

grad::Var affine_in(grad::Tape& tape, const grad::Var& x_TD, grad::Parameter& scale_D, grad::Parameter& bias_D) {
  const trace::Span span(trace::Kind::operation, "elementwise");
  grad::Var s = tape.param(scale_D), b = tape.param(bias_D);
  Tensor x = x_TD.value, y = Tensor::empty(x.shape(), x.dtype()), sv = s.value, bv = b.value;
  with_float(x.dtype(), [&]<class T>() {
    const T *sp = sv.data<T>(), *bp = bv.data<T>();
    for_rows<T>({x}, y, [=](const T* const* in, T* out, int64_t D) {
      for (int64_t c = 0; c < D; ++c) out[c] = (in[0][c] + bp[c]) * sp[c];
    });
  });
  return tape.record(y, {x_TD, s, b}, [=](grad::Grads& g) {
    with_float(x.dtype(), [&]<class T>() { branch_backward<T>(x, sv, bv, g, 0, 1, 2); });
  });
}

}  // namespace quern::nn
