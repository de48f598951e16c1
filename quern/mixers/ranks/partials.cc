#include "quern/mixers/ranks/partials.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "quern/base/threads.h"
#include "quern/kernels/attention/attention.h"
#include "quern/kernels/attention/partial.h"
#include "quern/nn/dispatch.h"

namespace quern::mixers {
namespace {

using kernels::join_rows;
using kernels::PartialRow;

template <class T>
PartialRow<T> row_at(const T* record, int64_t dv) {
  return {record, record[dv], record[dv + 1]};
}

// One query a segment: it sees every key, and the kernel that streams a cache once takes it.
template <class T, class KV>
Tensor of_all(const Tensor& q, const CachedRows& rows, double scale) {
  const Tensor &k = rows.k, &v = rows.v;
  const int64_t n = q.dim(0), hq = q.dim(1), dv = v.dim(2);
  const DType t = q.dtype();
  const Tensor records = no_partials(n * hq, dv, t);
  if (k.dim(0) == 0) return records;
  const Tensor o = Tensor::empty({n, hq, dv}, t), lse = Tensor::empty({n, hq}, t);
  std::vector<kernels::AttentionSegment<KV>> segments;
  for (int64_t i = 0; i < n; ++i)
    segments.push_back(
        {i, 1, k.view<const KV, 3>(), v.view<const KV, 3>(), scales_of(rows.k_scale), scales_of(rows.v_scale)});
  Arena& scratch = thread_arena();
  Arena::Scope scope(scratch);
  kernels::attention<T, KV>(q.view<const T, 3>(), segments, {.scale = scale}, o.view<T, 3>(), lse.view<T, 2>(),
                            scratch);
  // o is u/l, and (lse, 1, u/l) is the same state as (m, l, u).
  for (int64_t i = 0; i < n * hq; ++i) {
    T* to = records.data<T>() + i * (dv + 2);
    std::copy_n(o.data<T>() + i * dv, dv, to);
    to[dv] = lse.data<T>()[i] * static_cast<T>(kernels::kLog2e);
    to[dv + 1] = 1;
  }
  return records;
}

}  // namespace

Tensor no_partials(int64_t rows, int64_t dv, DType dtype) {
  const Tensor records = Tensor::zeros({rows, dv + 2}, dtype);
  nn::with_float(dtype, [&]<class T>() {
    for (int64_t i = 0; i < rows; ++i) records.data<T>()[i * (dv + 2) + dv] = static_cast<T>(kernels::kMasked);
  });
  return records;
}

Tensor partials_of_all(const Tensor& q, const CachedRows& rows, double scale) {
  if (q.dtype() == DType::f64) return of_all<double, double>(q, rows, scale);
  if (rows.k.dtype() == DType::bf16) return of_all<float, bf16>(q, rows, scale);
  if (rows.k.dtype() == DType::i8) return of_all<float, int8_t>(q, rows, scale);
  return of_all<float, float>(q, rows, scale);
}

template <class T>
Tensor partials_of(const BlockPartial<T>& p) {
  const int64_t rows = p.m.size(), dv = p.o.dim(2);
  const Tensor records = no_partials(rows, dv, p.o.dtype());
  for (int64_t i = 0; i < rows; ++i) {
    const T l = p.l.template data<T>()[i];
    if (l == 0) continue;
    T* to = records.data<T>() + i * (dv + 2);
    std::copy_n(p.o.template data<T>() + i * dv, dv, to);
    to[dv] = p.m.template data<T>()[i] * static_cast<T>(kernels::kLog2e);
    to[dv + 1] = l;
  }
  return records;
}
template Tensor partials_of<float>(const BlockPartial<float>&);
template Tensor partials_of<double>(const BlockPartial<double>&);

comm::RecordMerge partial_merge(DType dtype, int64_t dv) {
  return nn::with_float(dtype, [&]<class T>() -> comm::RecordMerge {
    return {(dv + 2) * dtype_size(dtype),
            [dv](const std::byte* left, const std::byte* right, std::byte* into, int64_t records) {
              std::vector<T> sum(static_cast<size_t>(dv));  // `into` may be an operand
              for (int64_t i = 0; i < records; ++i) {
                const int64_t at = i * (dv + 2);
                const T* operands[] = {reinterpret_cast<const T*>(left) + at, reinterpret_cast<const T*>(right) + at};
                const PartialRow<T> both = join_rows<T>(
                    2, [&](int64_t which) { return row_at(operands[which], dv); }, dv, sum.data());
                T* to = reinterpret_cast<T*>(into) + at;
                std::copy(sum.begin(), sum.end(), to);
                to[dv] = both.m, to[dv + 1] = both.l;
              }
            }};
  });
}

void join_partials(const std::vector<Tensor>& pieces, const Tensor& out) {
  const int64_t dv = out.dim(1) - 2, n = static_cast<int64_t>(pieces.size());
  nn::with_float(out.dtype(), [&]<class T>() {
    for (int64_t i = 0; i < out.dim(0); ++i) {
      const int64_t at = i * (dv + 2);
      T* to = out.data<T>() + at;
      const PartialRow<T> all = join_rows<T>(
          n, [&](int64_t p) { return row_at<T>(pieces[static_cast<size_t>(p)].data<T>() + at, dv); }, dv, to);
      to[dv] = all.m, to[dv + 1] = all.l;
    }
  });
}

Attended finish_partials(const Tensor& records, int64_t n_head) {
  const int64_t dv = records.dim(1) - 2, n = records.dim(0) / n_head;
  const Attended out{Tensor::zeros({n, n_head, dv}, records.dtype()), Tensor::empty({n, n_head}, records.dtype())};
  nn::with_float(records.dtype(), [&]<class T>() {
    for (int64_t i = 0; i < n * n_head; ++i) {
      const T* from = records.data<T>() + i * (dv + 2);
      const T m = from[dv], l = from[dv + 1];
      out.lse.data<T>()[i] = l > 0 ? kernels::partial_lse(m, l) : -std::numeric_limits<T>::infinity();
      for (int64_t j = 0; l > 0 && j < dv; ++j) out.o.data<T>()[i * dv + j] = from[j] / l;
    }
  });
  return out;
}

}  // namespace quern::mixers
