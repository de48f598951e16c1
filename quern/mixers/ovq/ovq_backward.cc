// Backward, chunk by chunk from the last. A chunk reads the memory as it was when the chunk began: the writes are
// recomputed forwards with an undo log of the rows they change (at most one chunk's worth each, O(T·d) in all, and
// exact, unlike subtracting from the sums), then undone one chunk at a time. A token's key and value are part of one
// row's sums: their gradient is what later reads gave that row.
#include <algorithm>
#include <vector>

#include "quern/base/error.h"
#include "quern/mixers/ovq/ovq_plan.h"
#include "quern/mixers/ovq/ovq_read.h"
#include "quern/mixers/ovq/ovq_write.h"
#include "quern/mixers/ovq/row_math.h"

namespace quern::mixers {
namespace {

// A memory that can go back, with its sums also laid out the other way.
template <class T>
class Replay {
 public:
  Replay(const OvqOptions& o, const OvqTokens<T>& x, View<int32_t, 1> rows, Arena& scratch)
      : o_(o), x_(x), d_(x.q.shape[1]), dv_(x.v.shape[1]), scratch_(scratch) {
    memory = OvqMemory<T>::in(zeros(OvqMemory<T>::elements(o, d_, dv_)), o, d_, dv_);
    keys_rows = zeros(o.rows * d_);
    values_columns = zeros(dv_ * ovq_key_stride(o.rows));
    chunk_values_columns = zeros(dv_ * ovq_key_stride(o.chunk));
    norms_ = zeros(o.normalize ? o.rows : 0);
    const int64_t chunks = (x.q.shape[0] + o.chunk - 1) / o.chunk;
    log_.reserve(static_cast<size_t>(chunks));
    for (int64_t r = 0; r + 1 < chunks; ++r) forward(r, rows);
  }

  const T* divisor() { return ovq_divisor(o_, memory, d_, norms_); }
  int64_t chunk_length(int64_t r) const { return std::min(o_.chunk, x_.q.shape[0] - r * o_.chunk); }

  // The chunk's tokens, into the memory's own chunk and as columns.
  void take_chunk(int64_t r) {
    const int64_t stride = ovq_key_stride(o_.chunk);
    for (int64_t i = 0; i < chunk_length(r); ++i) {
      const int64_t t = r * o_.chunk + i;
      for (int64_t c = 0; c < d_; ++c) memory.chunk_keys[c * stride + i] = x_.k(t, c);
      for (int64_t c = 0; c < dv_; ++c)
        memory.chunk_values[i * dv_ + c] = chunk_values_columns[c * stride + i] = x_.v(t, c);
    }
  }

  // The memory as it was before chunk r was written; r was the last one written.
  void undo() {
    for (const Old& old : log_.back().rows) {
      const int64_t stride = ovq_key_stride(o_.rows);
      memory.counts[old.row] = old.count;
      for (int64_t c = 0; c < d_; ++c) memory.keys[c * stride + old.row] = old.sums[c];
      std::copy_n(old.sums + d_, dv_, memory.values + old.row * dv_);
      mirror(old.row);
    }
    memory.live = log_.back().live;
    log_.pop_back();
  }

  // f(row, count before, count now) for every row the last chunk touched.
  template <class F>
  void each_touched(F f) const {
    for (const Old& old : log_.back().rows) f(old.row, old.count, memory.counts[old.row]);
  }

  OvqMemory<T> memory;
  T *keys_rows, *values_columns, *chunk_values_columns;

 private:
  struct Old {
    int64_t row;
    T count;
    const T* sums;  // [d + dv]
  };
  struct Written {
    int64_t live;
    std::vector<Old> rows;
  };

  T* zeros(int64_t n) {
    std::span<T> s = scratch_.take<T>(n);
    std::fill(s.begin(), s.end(), T(0));
    return s.data();
  }

  void mirror(int64_t row) {
    const int64_t stride = ovq_key_stride(o_.rows);
    for (int64_t c = 0; c < d_; ++c) keys_rows[row * d_ + c] = memory.keys[c * stride + row];
    for (int64_t c = 0; c < dv_; ++c) values_columns[c * stride + row] = memory.values[row * dv_ + c];
  }

  void forward(int64_t r, View<int32_t, 1> rows) {
    const int32_t* to = rows.data + r * o_.chunk * rows.stride[0];
    int32_t* now = scratch_.take<int32_t>(o_.chunk).data();
    Written w{memory.live, {}};
    int64_t live = memory.live;
    for (int64_t i = 0; i < o_.chunk; ++i) {
      now[i] = to[i * rows.stride[0]];
      live = std::max<int64_t>(live, now[i] + 1);
      if (std::none_of(now, now + i, [&](int32_t before) { return before == now[i]; })) {
        T* sums = scratch_.take<T>(d_ + dv_).data();
        std::copy_n(keys_rows + now[i] * d_, d_, sums);
        std::copy_n(memory.values + now[i] * dv_, dv_, sums + d_);
        w.rows.push_back({now[i], memory.counts[now[i]], sums});
      }
    }
    take_chunk(r);
    T* lacking = nullptr;
    if (o_.delta_values) {
      lacking = scratch_.take<T>(o_.chunk * dv_).data();
      ovq_lacking(o_, memory,
                  {.d = d_, .dv = dv_, .divisor = divisor(), .scale = static_cast<T>(x_.scale), .lacking = lacking},
                  scratch_);
    }
    ovq_write<T>(o_, memory, {.d = d_, .dv = dv_, .rows = now, .live_after = live, .lacking = lacking});
    for (const Old& old : w.rows) mirror(old.row);
    log_.push_back(std::move(w));
  }

  const OvqOptions& o_;
  const OvqTokens<T>& x_;
  int64_t d_, dv_;
  Arena& scratch_;
  T* norms_;
  std::vector<Written> log_;
};

// Gradient of the readouts that delta values were measured against: −g of each token's value, through a read of the
// dictionary alone by the chunk's keys.
template <class T>
void readout_backward(const OvqReading<T>& r, const OvqTransposed<T>& t, View<const T, 2> k, View<const T, 2> gvalue,
                      OvqReadGrads<T>& g, View<T, 2> gk, Arena& scratch) {
  Arena::Scope scope(scratch);
  const int64_t n = k.shape[0];
  T *read = scratch.take<T>(kOvqQueries * r.dv).data(), *lse = scratch.take<T>(kOvqQueries).data(),
    *gread = scratch.take<T>(kOvqQueries * r.dv).data();
  for (int64_t i = 0; i < n; i += kOvqQueries) {
    const int64_t l = std::min(kOvqQueries, n - i);
    View<T, 2> o(read, {l, r.dv}), go(gread, {l, r.dv});
    View<T, 1> e(lse, {l});
    ovq_read(r, k.slice(i, i + l), o, e, scratch);
    for (int64_t a = 0; a < l; ++a)
      for (int64_t c = 0; c < r.dv; ++c) go(a, c) = -gvalue(i + a, c);
    g.q = gk.slice(i, i + l);
    ovq_read_backward<T>(r, t, {.q = k.slice(i, i + l), .out = o, .lse = e, .gout = go}, g, scratch);
  }
}

}  // namespace

template <class T>
double ovq_backward(const OvqOptions& o, const OvqTokens<T>& x, const OvqBackwardArgs<T>& in, Arena& scratch) {
  Arena::Scope scope(scratch);
  const int64_t n = x.q.shape[0], d = x.q.shape[1], dv = x.v.shape[1], C = o.chunk, chunks = (n + C - 1) / C;
  Replay<T> past(o, x, in.kept.rows, scratch);
  OvqReadGrads<T> g{};
  g.keys = scratch.take<T>(o.rows * d).data(), g.values = scratch.take<T>(o.rows * dv).data();
  std::fill_n(g.keys, o.rows * d, T(0)), std::fill_n(g.values, o.rows * dv, T(0));
  for (int64_t t = 0; t < n; ++t) {
    std::fill_n(in.gq.row(t), d, T(0)), std::fill_n(in.gk.row(t), d, T(0)), std::fill_n(in.gv.row(t), dv, T(0));
  }
  for (int64_t r = chunks - 1; r >= 0; --r) {
    const int64_t begin = r * C, length = past.chunk_length(r);
    const View<T, 2> gk_r = in.gk.slice(begin, begin + length), gv_r = in.gv.slice(begin, begin + length);
    if (r + 1 < chunks) {  // what later chunks gave the rows that these tokens went into
      for (int64_t i = 0; i < length; ++i) {
        const int64_t row = in.kept.rows(begin + i);
        RowMath<T>::add(d, T(1), g.keys + row * d, gk_r.row(i));
        RowMath<T>::add(dv, T(1), g.values + row * dv, gv_r.row(i));
      }
      if (o.delta_values)
        past.each_touched([&](int64_t row, T before, T now) {
          RowMath<T>::scale(dv, before > 0 ? now / before : T(0), g.values + row * dv);
        });
      past.undo();
    }
    past.take_chunk(r);
    const View<const T, 2> own(past.memory.chunk_values, {length, dv}), k = x.k.slice(begin, begin + length);
    const OvqTransposed<T> turned{past.keys_rows, past.values_columns, k, past.chunk_values_columns};
    OvqReading<T> reading{o, past.memory, d, dv, past.divisor(), static_cast<T>(x.scale)};
    if (r + 1 < chunks && o.delta_values && past.memory.live > 0) {
      View<T, 2> gvalue(scratch.take<T>(length * dv).data(), {length, dv});
      for (int64_t i = 0; i < length; ++i) std::copy_n(gv_r.row(i), dv, gvalue.row(i));
      readout_backward<T>(reading, turned, k, gvalue, g, gk_r, scratch);
    }
    g.k = gk_r, g.v = gv_r;
    reading.chunk_values = own;
    for (int64_t i = 0; i < length; i += kOvqQueries) {
      const int64_t at = begin + i, to = at + std::min(kOvqQueries, length - i);
      reading.first = i;
      g.q = in.gq.slice(at, to);
      ovq_read_backward<T>(reading, turned,
                           {.q = x.q.slice(at, to),
                            .out = in.out.slice(at, to),
                            .lse = in.kept.lse.slice(at, to),
                            .gout = in.gout.slice(at, to)},
                           g, scratch);
    }
  }
  return g.scale;
}

#define QUERN_OVQ_BACKWARD(T) \
  template double ovq_backward<T>(const OvqOptions&, const OvqTokens<T>&, const OvqBackwardArgs<T>&, Arena&);
QUERN_OVQ_BACKWARD(float)
QUERN_OVQ_BACKWARD(double)
#undef QUERN_OVQ_BACKWARD

}  // namespace quern::mixers
