// Reading a memory: logits of a block of queries, their softmax, and its backward. The columns of a block are the rows
// in use, then the chunk's tokens 0 … first + l, of which query i sees first + i + 1.
#pragma once
#include "quern/mixers/ovq/ovq.h"

namespace quern::mixers {

constexpr int64_t kOvqQueries = 32;  // of a block: with 1024 rows its logits take 128 KiB

template <class T>
struct OvqReading {
  const OvqOptions& options;
  const OvqMemory<T>& memory;
  int64_t d, dv;
  const T* divisor;  // [live]: S_k / divisor is the key of a row
  T scale;
  View<const T, 2> chunk_values{};  // of the chunk's tokens; none: the dictionary alone is read
  int64_t first = 0;                // of the chunk's tokens that come before the first query

  bool own() const { return chunk_values.data != nullptr; }
  int64_t columns(int64_t queries) const { return memory.live + (own() ? first + queries : 0); }
  int64_t visible(int64_t i) const { return memory.live + (own() ? first + i + 1 : 0); }
};

// x[l, stride] = s·q·D_k ‖ s·q·k, without the counts' logarithms.
template <class T>
void ovq_scores(const OvqReading<T>& r, View<const T, 2> q, T* x, int64_t stride);

// out[l, dv] and, unless null, lse[l] = log Σ with the counts.
template <class T>
void ovq_read(const OvqReading<T>& r, View<const T, 2> q, View<T, 2> out, View<T, 1> lse, Arena& scratch);

template <class T>
struct OvqReadGrads {
  View<T, 2> q;      // [l, d], added to
  View<T, 2> k, v;   // of the chunk's tokens, added to
  T *keys, *values;  // of the sums: [N, d], [N, dv], added to
  double scale = 0;  // added to
};
// keys_rows [N, d] and values_columns [dv, stride(N)] are the memory's sums the other way round; chunk_k the chunk's
// keys as rows, chunk_values_columns [dv, stride(C)] its values as columns (both null when the dictionary alone is
// read).
template <class T>
struct OvqTransposed {
  const T *keys_rows, *values_columns;
  View<const T, 2> chunk_k{};
  const T* chunk_values_columns = nullptr;
};
template <class T>
struct OvqReadBackwardArgs {
  View<const T, 2> q, out;  // [l, d], [l, dv]
  View<const T, 1> lse;     // [l]
  View<const T, 2> gout;    // [l, dv]
};
template <class T>
void ovq_read_backward(const OvqReading<T>& r, const OvqTransposed<T>& t, const OvqReadBackwardArgs<T>& in,
                       OvqReadGrads<T>& g, Arena& scratch);

}  // namespace quern::mixers
