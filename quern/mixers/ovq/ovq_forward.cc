// Forward of one head, chunk by chunk: every token reads the dictionary and the chunk so far, then the chunk is
// written into the dictionary (definitions in ovq.h).
#include <algorithm>
#include <utility>

#include "quern/base/error.h"
#include "quern/mixers/ovq/ovq_plan.h"
#include "quern/mixers/ovq/ovq_read.h"
#include "quern/mixers/ovq/ovq_write.h"
#include "quern/mixers/ovq/row_math.h"

namespace quern::mixers {

template <class T>
int64_t OvqMemory<T>::elements(const OvqOptions& o, int64_t d, int64_t dv) {
  return d * ovq_key_stride(o.rows) + o.rows * dv + o.rows + d * ovq_key_stride(o.chunk) + o.chunk * dv;
}

template <class T>
OvqMemory<T> OvqMemory<T>::in(T* at, const OvqOptions& o, int64_t d, int64_t dv) {
  auto next = [&](int64_t n) { return std::exchange(at, at + n); };
  OvqMemory m;
  m.keys = next(d * ovq_key_stride(o.rows));
  m.values = next(o.rows * dv);
  m.counts = next(o.rows);
  m.chunk_keys = next(d * ovq_key_stride(o.chunk));
  m.chunk_values = next(o.chunk * dv);
  return m;
}

template <class T>
void ovq_write(const OvqOptions& o, OvqMemory<T>& m, const OvqWriteArgs<T>& in) {
  const int64_t stride = ovq_key_stride(o.rows), chunk_stride = ovq_key_stride(o.chunk);
  for (int64_t i = 0; i < o.chunk; ++i) {
    const int64_t a = in.rows[i];
    QUERN_CHECK(a >= 0 && a < in.live_after, "row {} of {}", a, in.live_after);
    T* count = m.counts + a;
    T* value = m.values + a * in.dv;
    if (in.lacking && *count > 0) RowMath<T>::scale(in.dv, (*count + 1) / *count, value);
    *count += 1;
    for (int64_t c = 0; c < in.d; ++c) m.keys[c * stride + a] += m.chunk_keys[c * chunk_stride + i];
    if (!in.lacking) RowMath<T>::add(in.dv, T(1), m.chunk_values + i * in.dv, value);
  }
  if (in.lacking)
    for (int64_t i = 0; i < o.chunk; ++i)
      RowMath<T>::add(in.dv, T(1), in.lacking + i * in.dv, m.values + in.rows[i] * in.dv);
  m.live = in.live_after;
}

template <class T>
void ovq_lacking(const OvqOptions& o, const OvqMemory<T>& m, const OvqLackingArgs<T>& in, Arena& scratch) {
  Arena::Scope scope(scratch);
  std::copy_n(m.chunk_values, o.chunk * in.dv, in.lacking);
  if (m.live == 0) return;
  const int64_t chunk_stride = ovq_key_stride(o.chunk);
  T *keys = scratch.take<T>(kOvqQueries * in.d).data(), *read = scratch.take<T>(kOvqQueries * in.dv).data();
  const OvqReading<T> r{o, m, in.d, in.dv, in.divisor, in.scale};
  for (int64_t i = 0; i < o.chunk; i += kOvqQueries) {
    const int64_t l = std::min(kOvqQueries, o.chunk - i);
    for (int64_t t = 0; t < l; ++t)
      for (int64_t c = 0; c < in.d; ++c) keys[t * in.d + c] = m.chunk_keys[c * chunk_stride + i + t];
    ovq_read(r, View<const T, 2>(keys, {l, in.d}), View<T, 2>(read, {l, in.dv}), View<T, 1>(), scratch);
    RowMath<T>::add(l * in.dv, T(-1), read, in.lacking + i * in.dv);
  }
}

template <class T>
void ovq_forward(const OvqOptions& o, const OvqTokens<T>& x, OvqMemory<T>& m, View<T, 2> out, OvqKept<T> kept,
                 Arena& scratch) {
  Arena::Scope scope(scratch);
  const int64_t n = x.q.shape[0], d = x.q.shape[1], dv = x.v.shape[1], C = o.chunk, chunk_stride = ovq_key_stride(C);
  T *norms = scratch.take<T>(o.normalize ? o.rows : 0).data(),
    *lacking = scratch.take<T>(o.delta_values ? C * dv : 0).data();
  int32_t* rows = scratch.take<int32_t>(C).data();
  const T* divisor = ovq_divisor(o, m, d, norms);
  const T scale = static_cast<T>(x.scale);
  for (int64_t t = 0; t < n;) {
    const int64_t first = m.seen % C, l = std::min({C - first, n - t, kOvqQueries});
    for (int64_t i = 0; i < l; ++i) {
      for (int64_t c = 0; c < d; ++c) m.chunk_keys[c * chunk_stride + first + i] = x.k(t + i, c);
      std::copy_n(x.v.row(t + i), dv, m.chunk_values + (first + i) * dv);
    }
    OvqReading<T> r{o, m, d, dv, divisor, scale, View<const T, 2>(m.chunk_values, {C, dv}), first};
    ovq_read(r, x.q.slice(t, t + l), out.slice(t, t + l), kept.lse ? kept.lse.slice(t, t + l) : View<T, 1>(),
             scratch);
    t += l, m.seen += l;
    if (first + l < C) continue;
    const int64_t live = ovq_plan(o, m, d, divisor, rows, scratch);
    if (o.delta_values)
      ovq_lacking(o, m, {.d = d, .dv = dv, .divisor = divisor, .scale = scale, .lacking = lacking}, scratch);
    ovq_write<T>(o, m,
                 {.d = d, .dv = dv, .rows = rows, .live_after = live, .lacking = o.delta_values ? lacking : nullptr});
    divisor = ovq_divisor(o, m, d, norms);
    // A chunk that began before these tokens is never differentiated: its rows need not be kept.
    if (kept.rows && t >= C)
      for (int64_t i = 0; i < C; ++i) kept.rows(t - C + i) = rows[i];
  }
}

#define QUERN_OVQ_FORWARD(T)                                                                              \
  template struct OvqMemory<T>;                                                                           \
  template void ovq_write<T>(const OvqOptions&, OvqMemory<T>&, const OvqWriteArgs<T>&);                   \
  template void ovq_lacking<T>(const OvqOptions&, const OvqMemory<T>&, const OvqLackingArgs<T>&, Arena&); \
  template void ovq_forward<T>(const OvqOptions&, const OvqTokens<T>&, OvqMemory<T>&, View<T, 2>, OvqKept<T>, Arena&);
QUERN_OVQ_FORWARD(float)
QUERN_OVQ_FORWARD(double)
#undef QUERN_OVQ_FORWARD

}  // namespace quern::mixers
