// Zeros are padded once, in front of z: the depthwise output then has t1−1 rows before the first token (its bias, not
// zero, at the start of a sequence), which the grouped convolution reads. Carried state is the same with real rows.
#include "quern/mixers/cca/latent.h"

#include <cmath>

#include "quern/kernels/cca/cca.h"
#include "quern/kernels/conv/conv.h"
#include "quern/kernels/norm/norm.h"
#include "quern/nn/dispatch.h"

namespace quern::mixers {
namespace {

// offsets with `halo` older rows in front of every segment
std::vector<int32_t> with_halo_batch(const std::vector<int32_t>& offsets, int64_t halo) {
  std::vector<int32_t> w(offsets);
  for (size_t s = 0; s < w.size(); ++s) w[s] += static_cast<int32_t>(static_cast<int64_t>(s) * halo);
  return w;
}

struct Plan {  // everything backward needs
  CcaConfig c;
  std::vector<int32_t> z_rows, u_rows, rows;  // offsets with history, with t1−1 rows, plain
  Tensor zz, u, s, norm_q, norm_k, cos, sin, dw_w, gc_w, temp;
};

template <class T>
View<T, 3> heads(const Tensor& t, int64_t d, int64_t first, int64_t n) {
  return {t.data<std::remove_const_t<T>>() + first * d, {t.dim(0), n, d}, {t.dim(1), d, 1}};
}

template <class T>
Tensor with_history(const Tensor& z, const Plan& p, const std::vector<Tensor*>& tails) {
  int64_t P = p.c.history(), C = z.dim(1);
  if (P == 0) return z;
  Tensor zz = Tensor::empty({z.dim(0) + P * (static_cast<int64_t>(p.rows.size()) - 1), C}, z.dtype());
  for (size_t s = 0; s + 1 < p.rows.size(); ++s) {
    Tensor old = zz.narrow(0, p.z_rows[s], P);
    if (tails.empty())
      old.fill(0);
    else
      old.copy_from(*tails[s]);
    zz.narrow(0, p.z_rows[s] + P, p.rows[s + 1] - p.rows[s])
        .copy_from(z.narrow(0, p.rows[s], p.rows[s + 1] - p.rows[s]));
    if (!tails.empty()) tails[s]->copy_from(zz.narrow(0, p.z_rows[s + 1] - P, P));
  }
  return zz;
}

template <class T>
View<const T, 1> vector_or_null(const grad::Var& v) {
  return v.value.defined() ? v.value.view<const T, 1>() : View<const T, 1>();
}

// s = conv(z) + mean(z)
template <class T>
void convolve(Plan& p, const Tensor& z, const grad::Var& dw_b, const grad::Var& gc_b) {
  const CcaConfig& c = p.c;
  int64_t C = c.channels(), G = c.n_head + c.n_head_kv;
  p.u = p.zz;
  if (c.time0 > 0) {
    p.u = Tensor::empty({static_cast<int64_t>(p.u_rows.back()), C}, z.dtype());
    kernels::depthwise_conv<T>(p.zz.view<const T, 2>(), p.dw_w.reshape({C, c.time0}).view<const T, 2>(),
                               vector_or_null<T>(dw_b), {p.z_rows, p.u_rows}, p.u.view<T, 2>());
  }
  if (c.time1 > 0) {
    p.s = Tensor::empty(z.shape(), z.dtype());
    Arena& scratch = thread_arena();
    Arena::Scope scope(scratch);
    kernels::grouped_conv<T>({.x = p.u.view<const T, 2>(),
                              .w = p.gc_w.view<const T, 3>(),
                              .b = vector_or_null<T>(gc_b),
                              .groups = G,
                              .spans = {p.u_rows, p.rows},
                              .y = p.s.view<T, 2>()},
                             scratch);
  } else {
    p.s = c.time0 > 0 ? p.u : z.clone();
  }
  if (c.qk_mean)
    kernels::add_qk_mean<T>(heads<const T>(z, c.head_dim, 0, G), c.n_head, heads<T>(p.s, c.head_dim, 0, G));
}

template <class T>
void convolve_backward(const Plan& p, const Tensor& gs, const Tensor& gz, grad::Grads& g) {
  const CcaConfig& c = p.c;
  int64_t C = c.channels(), G = c.n_head + c.n_head_kv;
  Tensor gu = gs;
  if (c.time1 > 0) {
    gu = Tensor::empty(p.u.shape(), p.u.dtype());
    Arena& scratch = thread_arena();
    Arena::Scope scope(scratch);
    kernels::grouped_conv_backward<T>({.x = p.u.view<const T, 2>(),
                                       .w = p.gc_w.view<const T, 3>(),
                                       .gy = gs.view<const T, 2>(),
                                       .groups = G,
                                       .spans = {p.u_rows, p.rows},
                                       .gx = gu.view<T, 2>(),
                                       .gw = g.wants(3) ? g.accumulator(3).view<T, 3>() : View<T, 3>(),
                                       .gb = g.wants(4) ? g.accumulator(4).view<T, 1>() : View<T, 1>()},
                                      scratch);
  }
  Tensor gzz = gu;
  if (c.time0 > 0) {
    gzz = Tensor::empty(p.zz.shape(), p.zz.dtype());
    kernels::depthwise_conv_backward<T>(
        {.x = p.zz.view<const T, 2>(),
         .w = p.dw_w.reshape({C, c.time0}).view<const T, 2>(),
         .gy = gu.view<const T, 2>(),
         .spans = {p.z_rows, p.u_rows},
         .gx = gzz.view<T, 2>(),
         .gw = g.wants(1) ? g.accumulator(1).reshape({C, c.time0}).view<T, 2>() : View<T, 2>(),
         .gb = g.wants(2) ? g.accumulator(2).view<T, 1>() : View<T, 1>()});
  }
  for (size_t s = 0; s + 1 < p.rows.size(); ++s) {  // the history in front has no gradient
    int64_t n = p.rows[s + 1] - p.rows[s];
    gz.narrow(0, p.rows[s], n).copy_from(gzz.narrow(0, p.z_rows[s] + c.history(), n));
  }
  if (c.qk_mean)
    kernels::add_qk_mean_backward<T>(heads<const T>(gs, c.head_dim, 0, G), c.n_head, heads<T>(gz, c.head_dim, 0, G));
}

template <class T>
void backward(const std::shared_ptr<Plan>& p, grad::Grads& g) {
  const CcaConfig& c = p->c;
  int64_t d = c.head_dim;
  double root = std::sqrt(static_cast<double>(d));
  Tensor gs = Tensor::empty(p->s.shape(), p->s.dtype()), temp = effective_temperature(c, p->temp);
  Tensor g_temp = Tensor::zeros(temp.shape(), temp.dtype());
  auto unrope = [&](const Tensor& grad) {
    if (!p->cos.defined()) return grad;
    Tensor out = Tensor::empty(grad.shape(), grad.dtype());
    kernels::rope<T>(grad.view<const T, 3>(), p->cos.view<const T, 2>(), p->sin.view<const T, 2>(), c.rope.pairing,
                     kernels::RopeTurn::inverse, out.view<T, 3>());
    return out;
  };
  Tensor gq = unrope(g.out(0)), gk = unrope(g.out(1));
  kernels::l2_norm_backward<T>({.x = heads<const T>(p->s, d, 0, c.n_head),
                                .scale = root,
                                .eps = c.l2_eps,
                                .norm = p->norm_q.view<const T, 2>(),
                                .gy = gq.view<const T, 3>(),
                                .gx = heads<T>(gs, d, 0, c.n_head)});
  kernels::l2_norm_backward<T>({.x = heads<const T>(p->s, d, c.n_head, c.n_head_kv),
                                .temperature = temp.view<const T, 1>(),
                                .scale = root,
                                .eps = c.l2_eps,
                                .norm = p->norm_k.view<const T, 2>(),
                                .gy = gk.view<const T, 3>(),
                                .gx = heads<T>(gs, d, c.n_head, c.n_head_kv),
                                .g_temperature = g_temp.view<T, 1>()});
  if (g.wants(5)) {
    if (c.temperature == CcaConfig::Temperature::exponential)
      for (int64_t j = 0; j < temp.size(); ++j) g_temp.data<T>()[j] *= temp.data<T>()[j];
    g.add(5, g_temp);
  }
  Tensor gz = Tensor::empty(gs.shape(), gs.dtype());
  convolve_backward<T>(*p, gs, gz, g);
  g.add(0, gz);
}

}  // namespace

Tensor effective_temperature(const CcaConfig& c, const Tensor& temp) {
  if (c.temperature == CcaConfig::Temperature::linear) return temp;
  Tensor e = temp.clone();
  nn::with_float(e.dtype(), [&]<class T>() {
    for (T& x : e.span<T>()) x = std::exp(x);
  });
  return e;
}

std::vector<grad::Var> latent_qk(grad::Tape& tape, const CcaConfig& c, const LatentInputs& x,
                                 const LatentParameters& q, const Batch& batch) {
  auto p = std::make_shared<Plan>();
  p->c = c;
  p->rows = batch.offsets;
  p->z_rows = with_halo_batch(batch.offsets, c.history());
  p->u_rows = with_halo_batch(batch.offsets, std::max<int64_t>(c.time1 - 1, 0));
  auto leaf = [&](grad::Parameter* x) { return x ? tape.param(*x) : grad::Var(); };
  std::vector<grad::Var> in = {x.z_TC, leaf(q.dw_w), leaf(q.dw_b), leaf(q.gc_w), leaf(q.gc_b), leaf(q.temp)};
  p->dw_w = in[1].value;
  p->gc_w = in[3].value;
  p->temp = in[5].value;
  const Tensor z = x.z_TC.value;
  int64_t T_ = z.dim(0), d = c.head_dim;
  double root = std::sqrt(static_cast<double>(d));
  Tensor qs = Tensor::empty({T_, c.n_head, d}, z.dtype()), ks = Tensor::empty({T_, c.n_head_kv, d}, z.dtype());
  return nn::with_float(z.dtype(), [&]<class T>() {
    p->zz = with_history<T>(z, *p, x.tails);
    convolve<T>(*p, z, in[2], in[4]);
    p->norm_q = Tensor::empty({T_, c.n_head}, z.dtype());
    p->norm_k = Tensor::empty({T_, c.n_head_kv}, z.dtype());
    Tensor temp = effective_temperature(c, p->temp);
    kernels::l2_norm<T>(heads<const T>(p->s, d, 0, c.n_head), {}, root, c.l2_eps, qs.view<T, 3>(),
                        p->norm_q.view<T, 2>());
    kernels::l2_norm<T>(heads<const T>(p->s, d, c.n_head, c.n_head_kv), temp.view<const T, 1>(), root, c.l2_eps,
                        ks.view<T, 3>(), p->norm_k.view<T, 2>());
    if (!x.inv_freq.empty()) {
      Shape table = {T_, static_cast<int64_t>(x.inv_freq.size())};
      p->cos = Tensor::empty(table, z.dtype());
      p->sin = Tensor::empty(table, z.dtype());
      kernels::rope_table<T>(batch.positions, x.inv_freq, p->cos.view<T, 2>(), p->sin.view<T, 2>());
      for (const Tensor& of : {qs, ks})
        kernels::rope<T>(of.view<const T, 3>(), p->cos.view<const T, 2>(), p->sin.view<const T, 2>(), c.rope.pairing,
                         kernels::RopeTurn::forward, of.view<T, 3>());
    }
    return tape.record_many({qs, ks}, in, [p](grad::Grads& g) { backward<T>(p, g); });
  });
}

}  // namespace quern::mixers
