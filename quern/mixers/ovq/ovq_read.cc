#include "quern/mixers/ovq/ovq_read.h"

#include <algorithm>
#include <cmath>

#include "quern/mixers/ovq/row_math.h"

namespace quern::mixers {
namespace {

template <class T>
void softmax_backward_rows(const OvqReading<T>& r, View<const T, 2> out, View<const T, 1> lse, View<const T, 2> gout,
                           T* p, T* g, int64_t stride, int64_t l) {
  using Math = RowMath<T>;
  const int64_t live = r.memory.live, columns = r.columns(l);
  for (int64_t i = 0; i < l; ++i) {
    const int64_t n = r.visible(i);
    T *pi = p + i * stride, *gi = g + i * stride;
    Math::exps(n, lse(i), pi);
    if (r.options.count_bias)
      for (int64_t j = 0; j < live; ++j) pi[j] *= r.memory.counts[j];
    Math::divide(live, T(1), r.memory.counts, gi);
    Math::center(n, Math::dot(r.dv, out.row(i), gout.row(i)), pi, gi);
    std::fill(pi + n, pi + columns, T(0));
    std::fill(gi + n, gi + columns, T(0));
  }
}

}  // namespace

template <class T>
void ovq_scores(const OvqReading<T>& r, View<const T, 2> q, T* x, int64_t stride) {
  using Math = RowMath<T>;
  const int64_t l = q.shape[0], live = r.memory.live, key_stride = ovq_key_stride(r.options.rows),
                chunk_stride = ovq_key_stride(r.options.chunk), others = r.columns(l) - live;
  Math::product({q.data, q.stride[0], 1, r.memory.keys, key_stride, x, stride, l, live, r.d, false});
  if (r.own())
    Math::product(
        {q.data, q.stride[0], 1, r.memory.chunk_keys, chunk_stride, x + live, stride, l, others, r.d, false});
  for (int64_t i = 0; i < l; ++i) {
    Math::divide(live, r.scale, r.divisor, x + i * stride);
    Math::scale(others, r.scale, x + i * stride + live);
  }
}

template <class T>
void ovq_read(const OvqReading<T>& r, View<const T, 2> q, View<T, 2> out, View<T, 1> lse, Arena& scratch) {
  using Math = RowMath<T>;
  Arena::Scope scope(scratch);
  const int64_t l = q.shape[0], live = r.memory.live, columns = r.columns(l);
  T* x = scratch.take<T>(l * columns).data();
  T sums[kOvqQueries];
  ovq_scores(r, q, x, columns);
  for (int64_t i = 0; i < l; ++i) {
    const int64_t n = r.visible(i);
    T* e = x + i * columns;
    const T maximum = Math::largest(n, e);
    Math::exps(n, maximum, e);
    sums[i] = r.options.count_bias ? Math::dot(live, e, r.memory.counts) : Math::sum(live, e);
    sums[i] += Math::sum(n - live, e + live);
    if (!r.options.count_bias) Math::divide(live, T(1), r.memory.counts, e);
    std::fill(e + n, e + columns, T(0));
    if (lse) lse(i) = maximum + std::log(sums[i]);
  }
  Math::product({x, columns, 1, r.memory.values, r.dv, out.data, out.stride[0], l, r.dv, live, false});
  if (r.own())
    Math::product({x + live, columns, 1, r.chunk_values.data, r.chunk_values.stride[0], out.data, out.stride[0], l,
                   r.dv, columns - live, true});
  for (int64_t i = 0; i < l; ++i) Math::scale(r.dv, 1 / sums[i], out.row(i));
}

template <class T>
void ovq_read_backward(const OvqReading<T>& r, const OvqTransposed<T>& t, const OvqReadBackwardArgs<T>& in,
                       OvqReadGrads<T>& g, Arena& scratch) {
  using Math = RowMath<T>;
  Arena::Scope scope(scratch);
  const OvqMemory<T>& m = r.memory;
  const int64_t l = in.q.shape[0], live = m.live, W = r.columns(l), others = W - live, d = r.d, dv = r.dv,
                key_stride = ovq_key_stride(r.options.rows), chunk_stride = ovq_key_stride(r.options.chunk);
  T *x = scratch.take<T>(l * W).data(), *p = scratch.take<T>(l * W).data(), *dx = scratch.take<T>(l * W).data();
  ovq_scores(r, in.q, x, W);
  for (int64_t i = 0; i < l; ++i) std::copy_n(x + i * W, r.visible(i), p + i * W);
  Math::product({in.gout.data, in.gout.stride[0], 1, t.values_columns, key_stride, dx, W, l, live, dv, false});
  if (r.own())
    Math::product({in.gout.data, in.gout.stride[0], 1, t.chunk_values_columns, chunk_stride, dx + live, W, l, others,
                   dv, false});
  softmax_backward_rows(r, in.out, in.lse, in.gout, p, dx, W, l);  // p: probabilities, dx: gradients of the logits
  for (int64_t i = 0; i < l; ++i)
    g.scale += static_cast<double>(Math::dot(r.visible(i), dx + i * W, x + i * W) / r.scale);
  if (r.options.normalize)  // ∂(S/‖S‖): the part along S goes
    for (int64_t i = 0; i < l; ++i)
      for (int64_t j = 0; j < live; ++j)
        Math::add(d, -dx[i * W + j] * x[i * W + j] / (r.divisor[j] * r.divisor[j]), t.keys_rows + j * d,
                  g.keys + j * d);
  for (int64_t i = 0; i < l; ++i) {
    Math::divide(live, T(1), m.counts, p + i * W);
    Math::divide(live, r.scale, r.divisor, dx + i * W);
    Math::scale(others, r.scale, dx + i * W + live);
  }
  Math::product({p, 1, W, in.gout.data, in.gout.stride[0], g.values, dv, live, dv, l, true});
  Math::product({dx, 1, W, in.q.data, in.q.stride[0], g.keys, d, live, d, l, true});
  Math::product({dx, W, 1, t.keys_rows, d, g.q.data, g.q.stride[0], l, d, live, true});
  if (!r.own()) return;
  Math::product({p + live, 1, W, in.gout.data, in.gout.stride[0], g.v.data, g.v.stride[0], others, dv, l, true});
  Math::product({dx + live, 1, W, in.q.data, in.q.stride[0], g.k.data, g.k.stride[0], others, d, l, true});
  Math::product({dx + live, W, 1, t.chunk_k.data, t.chunk_k.stride[0], g.q.data, g.q.stride[0], l, d, others, true});
}

#define QUERN_OVQ_READ(T)                                                                                          \
  template void ovq_scores<T>(const OvqReading<T>&, View<const T, 2>, T*, int64_t);                                \
  template void ovq_read<T>(const OvqReading<T>&, View<const T, 2>, View<T, 2>, View<T, 1>, Arena&);               \
  template void ovq_read_backward<T>(const OvqReading<T>&, const OvqTransposed<T>&, const OvqReadBackwardArgs<T>&, \
                                     OvqReadGrads<T>&, Arena&);
QUERN_OVQ_READ(float)
QUERN_OVQ_READ(double)
#undef QUERN_OVQ_READ

}  // namespace quern::mixers
