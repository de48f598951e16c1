// Partial attention results as records that ranks can exchange: [rows, dv + 2] of u, m, l
// (kernels/attention/partial.h), one row per query and head. Every operation is per row, so records may be split
// between rows and combined piece by piece.
#pragma once
#include "quern/comm/communicator.h"
#include "quern/mixers/ranks/attend.h"
#include "quern/mixers/ranks/context_blocks.h"

namespace quern::mixers {

Tensor no_partials(int64_t rows, int64_t dv, DType dtype);  // nothing seen

// Of queries q [n, Hq, d] that see all of k [t, Hkv, d], v [t, Hkv, dv] (f32, bf16 or i8 for f32 queries; f64): t may
// be 0.
Tensor partials_of_all(const Tensor& q, const CachedRows& rows, double scale);
// Of what tiles of products have gathered, not yet divided.
template <class T>
Tensor partials_of(const BlockPartial<T>& p);

comm::RecordMerge partial_merge(DType dtype, int64_t dv);  // commutative to the bit
// out [rows, …]: the join of pieces.size() states of as many rows, in order.
void join_partials(const std::vector<Tensor>& pieces, const Tensor& out);

struct Attended {
  Tensor o, lse;  // [n, Hq, dv], [n, Hq]; a row that saw nothing: 0 and −∞
};
Attended finish_partials(const Tensor& records, int64_t n_head);

}  // namespace quern::mixers
