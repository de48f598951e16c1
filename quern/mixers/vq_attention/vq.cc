#include "quern/mixers/vq_attention/vq.h"

#include <algorithm>

#include "quern/mixers/ovq/ovq_read.h"
#include "quern/mixers/ovq/row_math.h"

namespace quern::mixers {
namespace {

constexpr double kUnmet =
    1e-30;  // weight of a code nothing has been written to: no term of a sum in f32 or f64 feels it

template <class T>
void nearest_codes(const VqOptions& o, View<const T, 2> k, const VqCodebook<T>& book, int32_t* rows, Arena& scratch) {
  Arena::Scope scope(scratch);
  const int64_t l = k.shape[0], d = k.shape[1], N = o.codes;
  T *alike = scratch.take<T>(l * N).data(), *half = scratch.take<T>(N).data();
  for (int64_t n = 0; n < N; ++n) half[n] = RowMath<T>::dot(d, book.rows + n * d, book.rows + n * d) / 2;
  RowMath<T>::product({k.data, k.stride[0], 1, book.columns, ovq_key_stride(N), alike, N, l, N, d, false});
  for (int64_t t = 0; t < l; ++t) {
    RowMath<T>::add(N, T(-1), half, alike + t * N);
    rows[t] = static_cast<int32_t>(std::max_element(alike + t * N, alike + (t + 1) * N) - (alike + t * N));
  }
}

template <class T>
void put_chunk(const VqOptions& o, const OvqTokens<T>& x, const VqCodebook<T>& book, const int32_t* rows, int64_t t,
               int64_t first, int64_t l, OvqMemory<T>& m) {
  const int64_t d = x.q.shape[1], dv = x.v.shape[1], stride = ovq_key_stride(o.chunk);
  for (int64_t i = 0; i < l; ++i) {
    for (int64_t c = 0; c < d; ++c) m.chunk_keys[c * stride + first + i] = book.rows[rows[i] * d + c];
    std::copy_n(x.v.row(t + i), dv, m.chunk_values + (first + i) * dv);
  }
}

// The memory as a reading wants it: codes for keys, whose divisor is 1, and no count of zero.
template <class T>
OvqMemory<T> readable(const VqOptions& o, const OvqMemory<T>& m, const VqCodebook<T>& book, T* counts) {
  OvqMemory<T> r = m;
  r.keys = const_cast<T*>(book.columns);
  r.counts = counts;
  r.live = o.codes;
  for (int64_t n = 0; n < o.codes; ++n) counts[n] = std::max(m.counts[n], static_cast<T>(kUnmet));
  return r;
}

}  // namespace

template <class T>
void vq_columns(const VqOptions& o, const T* rows, int64_t d, T* columns) {
  for (int64_t c = 0; c < d; ++c)
    for (int64_t n = 0; n < o.codes; ++n) columns[c * ovq_key_stride(o.codes) + n] = rows[n * d + c];
}

template <class T>
void vq_forward(const VqOptions& o, const OvqTokens<T>& x, const VqCodebook<T>& book, OvqMemory<T>& m,
                const VqOutputs<T>& to, Arena& scratch) {
  Arena::Scope scope(scratch);
  const int64_t n = x.q.shape[0], d = x.q.shape[1], dv = x.v.shape[1], C = o.chunk;
  const OvqOptions reading = o.reading();
  T *counts = scratch.take<T>(o.codes).data(), *ones = scratch.take<T>(o.codes).data();
  std::fill_n(ones, o.codes, T(1));
  int32_t* now = scratch.take<int32_t>(kOvqQueries).data();
  for (int64_t t = 0; t < n;) {
    const int64_t first = m.seen % C, l = std::min({C - first, n - t, kOvqQueries});
    nearest_codes(o, x.k.slice(t, t + l), book, now, scratch);
    put_chunk(o, x, book, now, t, first, l, m);
    const OvqMemory<T> r = readable(o, m, book, counts);
    ovq_read<T>({reading, r, d, dv, ones, static_cast<T>(x.scale), View<const T, 2>(m.chunk_values, {C, dv}), first},
                x.q.slice(t, t + l), to.out.slice(t, t + l), to.lse ? to.lse.slice(t, t + l) : View<T, 1>(), scratch);
    for (int64_t i = 0; i < l; ++i) {
      m.keys[first + i] = static_cast<T>(now[i]);
      if (to.rows) to.rows(t + i) = now[i];
    }
    t += l, m.seen += l;
    if (first + l < C) continue;
    for (int64_t i = 0; i < C; ++i) {
      const auto code = static_cast<int64_t>(m.keys[i]);
      m.counts[code] += 1;
      RowMath<T>::add(dv, T(1), m.chunk_values + i * dv, m.values + code * dv);
    }
  }
}

template <class T>
double vq_backward(const VqOptions& o, const OvqTokens<T>& x, const VqCodebook<T>& book, const VqBackwardArgs<T>& in,
                   Arena& scratch) {
  Arena::Scope scope(scratch);
  const int64_t n = x.q.shape[0], d = x.q.shape[1], dv = x.v.shape[1], C = o.chunk, N = o.codes,
                chunks = (n + C - 1) / C, stride = ovq_key_stride(N), chunk_stride = ovq_key_stride(C);
  const OvqOptions reading = o.reading();
  auto zeros = [&](int64_t size) {
    T* z = scratch.take<T>(size).data();
    std::fill_n(z, size, T(0));
    return z;
  };
  // Counts and sums as each chunk found them.
  T *counts = zeros((chunks + 1) * N), *sums = zeros((chunks + 1) * N * dv);
  for (int64_t t = 0; t < n; ++t) {
    const int64_t r = t / C;
    if (t % C == 0) {
      std::copy_n(counts + r * N, N, counts + (r + 1) * N);
      std::copy_n(sums + r * N * dv, N * dv, sums + (r + 1) * N * dv);
    }
    counts[(r + 1) * N + in.rows(t)] += 1;
    RowMath<T>::add(dv, T(1), x.v.row(t), sums + ((r + 1) * N + in.rows(t)) * dv);
  }
  T *ones = zeros(N), *safe = zeros(N), *columns = zeros(dv * stride), *chunk_columns = zeros(dv * chunk_stride),
    *own_keys = zeros(C * d);
  std::fill_n(ones, N, T(1));
  OvqMemory<T> m;
  m.chunk_keys = zeros(d * chunk_stride), m.chunk_values = zeros(C * dv);
  int32_t* codes = scratch.take<int32_t>(C).data();
  OvqReadGrads<T> g{};
  g.keys = zeros(N * d), g.values = zeros(N * dv);
  for (int64_t t = 0; t < n; ++t)
    std::fill_n(in.gq.row(t), d, T(0)), std::fill_n(in.gk.row(t), d, T(0)), std::fill_n(in.gv.row(t), dv, T(0));
  for (int64_t r = chunks - 1; r >= 0; --r) {
    const int64_t begin = r * C, length = std::min(C, n - begin);
    for (int64_t i = 0; i < length; ++i) {
      codes[i] = in.rows(begin + i);
      RowMath<T>::add(dv, T(1), g.values + codes[i] * dv, in.gv.row(begin + i));
      std::copy_n(book.rows + codes[i] * d, d, own_keys + i * d);
      for (int64_t c = 0; c < dv; ++c) chunk_columns[c * chunk_stride + i] = x.v(begin + i, c);
    }
    m.counts = counts + r * N, m.values = sums + r * N * dv;
    put_chunk(o, x, book, codes, begin, 0, length, m);
    for (int64_t c = 0; c < dv; ++c)
      for (int64_t j = 0; j < N; ++j) columns[c * stride + j] = m.values[j * dv + c];
    const OvqMemory<T> memory = readable(o, m, book, safe);
    OvqReading<T> read{
        reading, memory, d, dv, ones, static_cast<T>(x.scale), View<const T, 2>(m.chunk_values, {length, dv})};
    const OvqTransposed<T> turned{book.rows, columns, View<const T, 2>(own_keys, {length, d}), chunk_columns};
    g.k = in.gk.slice(begin, begin + length), g.v = in.gv.slice(begin, begin + length);
    for (int64_t i = 0; i < length; i += kOvqQueries) {
      const int64_t at = begin + i, to = at + std::min(kOvqQueries, length - i);
      read.first = i;
      g.q = in.gq.slice(at, to);
      ovq_read_backward<T>(read, turned,
                           {.q = x.q.slice(at, to),
                            .out = in.out.slice(at, to),
                            .lse = in.lse.slice(at, to),
                            .gout = in.gout.slice(at, to)},
                           g, scratch);
    }
  }
  const T each = T(2) / static_cast<T>(in.tokens);
  for (int64_t t = 0; t < n; ++t)
    for (int64_t c = 0; c < d; ++c) {
      const T away = x.k(t, c) - book.rows[in.rows(t) * d + c];
      in.gk(t, c) += static_cast<T>(o.commit) * each * away;
      in.gcodes[in.rows(t) * d + c] -= each * away;
    }
  return g.scale;
}

#define QUERN_VQ(T)                                                                                       \
  template void vq_columns<T>(const VqOptions&, const T*, int64_t, T*);                                   \
  template void vq_forward<T>(const VqOptions&, const OvqTokens<T>&, const VqCodebook<T>&, OvqMemory<T>&, \
                              const VqOutputs<T>&, Arena&);                                               \
  template double vq_backward<T>(const VqOptions&, const OvqTokens<T>&, const VqCodebook<T>&,             \
                                 const VqBackwardArgs<T>&, Arena&);
QUERN_VQ(float)
QUERN_VQ(double)
#undef QUERN_VQ

}  // namespace quern::mixers
