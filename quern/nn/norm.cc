// Norms, softmax and the L2 norm with temperature, as tape operations over the kernels.
#include "quern/kernels/norm/norm.h"

#include "quern/kernels/softmax/softmax.h"
#include "quern/nn/dispatch.h"
#include "quern/nn/ops.h"
#include "quern/trace/trace.h"

namespace quern::nn {

grad::Var rms_norm(grad::Tape& tape, const grad::Var& x_TD, grad::Parameter& w_D, double eps) {
  const trace::Span span(trace::Kind::operation, "norm");
  grad::Var w = tape.param(w_D);
  Tensor x = x_TD.value, wv = w.value, y = Tensor::empty(x.shape(), x.dtype());
  bool keep = tape.needs({x_TD, w});
  Tensor inv = keep ? Tensor::empty({x.dim(0)}, x.dtype()) : Tensor();
  return with_float(x.dtype(), [&]<class T>() {
    kernels::rms_norm<T>(x.view<const T, 2>(), wv.view<const T, 1>(), eps, y.view<T, 2>(),
                         keep ? inv.view<T, 1>() : View<T, 1>());
    return tape.record(y, {x_TD, w}, [x, wv, inv](grad::Grads& g) {
      Tensor gx = Tensor::empty(x.shape(), x.dtype());
      kernels::rms_norm_backward<T>(x.view<const T, 2>(), wv.view<const T, 1>(), inv.view<const T, 1>(),
                                    g.out().view<const T, 2>(), gx.view<T, 2>(),
                                    g.wants(1) ? g.accumulator(1).view<T, 1>() : View<T, 1>());
      g.add(0, gx);
    });
  });
}

grad::Var layer_norm(grad::Tape& tape, const grad::Var& x_TD, grad::Parameter& w_D, grad::Parameter& b_D,
                     double eps) {
  const trace::Span span(trace::Kind::operation, "norm");
  grad::Var w = tape.param(w_D), b = tape.param(b_D);
  Tensor x = x_TD.value, wv = w.value, y = Tensor::empty(x.shape(), x.dtype());
  bool keep = tape.needs({x_TD, w, b});
  Tensor mean = keep ? Tensor::empty({x.dim(0)}, x.dtype()) : Tensor(),
         inv = keep ? Tensor::empty({x.dim(0)}, x.dtype()) : Tensor();
  return with_float(x.dtype(), [&]<class T>() {
    kernels::layer_norm<T>({.x = x.view<const T, 2>(),
                            .w = wv.view<const T, 1>(),
                            .b = b.value.view<const T, 1>(),
                            .eps = eps,
                            .y = y.view<T, 2>(),
                            .mean = keep ? mean.view<T, 1>() : View<T, 1>(),
                            .inv = keep ? inv.view<T, 1>() : View<T, 1>()});
    return tape.record(y, {x_TD, w, b}, [x, wv, mean, inv](grad::Grads& g) {
      Tensor gx = Tensor::empty(x.shape(), x.dtype());
      kernels::layer_norm_backward<T>({.x = x.view<const T, 2>(),
                                       .w = wv.view<const T, 1>(),
                                       .mean = mean.view<const T, 1>(),
                                       .inv = inv.view<const T, 1>(),
                                       .gy = g.out().view<const T, 2>(),
                                       .gx = gx.view<T, 2>(),
                                       .gw = g.wants(1) ? g.accumulator(1).view<T, 1>() : View<T, 1>(),
                                       .gb = g.wants(2) ? g.accumulator(2).view<T, 1>() : View<T, 1>()});
      g.add(0, gx);
    });
  });
}

grad::Var softmax(grad::Tape& tape, const grad::Var& x_TD) {
  const trace::Span span(trace::Kind::operation, "softmax");
  Tensor x = x_TD.value, p = Tensor::empty(x.shape(), x.dtype());
  return with_float(x.dtype(), [&]<class T>() {
    kernels::softmax<T>(x.view<const T, 2>(), p.view<T, 2>());
    return tape.record(p, {x_TD}, [p](grad::Grads& g) {
      Tensor gx = Tensor::empty(p.shape(), p.dtype());
      kernels::softmax_backward<T>(p.view<const T, 2>(), g.out().view<const T, 2>(), gx.view<T, 2>());
      g.add(0, gx);
    });
  });
}

grad::Var l2_norm(grad::Tape& tape, const grad::Var& x_THd, grad::Parameter* temperature_H, double scale,
                  double eps) {
  const trace::Span span(trace::Kind::operation, "norm");
  grad::Var t = temperature_H ? tape.param(*temperature_H) : grad::Var();
  Tensor x = x_THd.value, tv = t.value, y = Tensor::empty(x.shape(), x.dtype());
  std::vector<grad::Var> inputs = {x_THd};
  if (temperature_H) inputs.push_back(t);
  bool keep = tape.needs(inputs), heated = temperature_H != nullptr;
  Tensor norm = keep ? Tensor::empty({x.dim(0), x.dim(1)}, x.dtype()) : Tensor();
  return with_float(x.dtype(), [&]<class T>() {
    kernels::l2_norm<T>(x.view<const T, 3>(), heated ? tv.view<const T, 1>() : View<const T, 1>(), scale, eps,
                        y.view<T, 3>(), keep ? norm.view<T, 2>() : View<T, 2>());
    return tape.record(y, inputs, [x, tv, norm, scale, eps, heated](grad::Grads& g) {
      Tensor gx = Tensor::empty(x.shape(), x.dtype());
      kernels::l2_norm_backward<T>(
          {.x = x.view<const T, 3>(),
           .temperature = heated ? tv.view<const T, 1>() : View<const T, 1>(),
           .scale = scale,
           .eps = eps,
           .norm = norm.view<const T, 2>(),
           .gy = g.out().view<const T, 3>(),
           .gx = gx.view<T, 3>(),
           .g_temperature = heated && g.wants(1) ? g.accumulator(1).view<T, 1>() : View<T, 1>()});
      g.add(0, gx);
    });
  });
}

}  // namespace quern::nn
