// Attention over vector-quantized keys with a learned codebook (Transformer-VQ, arXiv 2309.16354; the ancestor of
// OVQ), one head at a time. Each key becomes its nearest code k̂ = C_z, so that the past is one count and one sum of
// values per code:
//   logits s·q·C_n + log c_n over the codes as they stood when the chunk began, s·q·k̂_j over the chunk's own tokens
// That is exact softmax attention over the quantized keys. Codes without tokens take part with a weight of 1e-30.
// Gradients: exact for q, v and s; for k straight-through, from the chunk's own tokens only, none through the cache;
// for the codebook as if the loss also contained mean ‖C_z − k‖², and for k commit·mean ‖k − C_z‖². State of a head:
// N·dv + N sums and a chunk of tokens; cost of a token (N + C/2)(d + dv) + N·d multiply-adds.
#pragma once
#include "quern/mixers/ovq/ovq.h"

namespace quern::mixers {

struct VqOptions {
  int64_t codes = 512, chunk = 128;
  double commit = 1e-4;
  OvqOptions reading() const { return {.rows = codes, .chunk = chunk}; }
};

// A head's codebook both ways round: [N, d], and [d, stride(N)].
template <class T>
struct VqCodebook {
  const T *rows, *columns;
};
template <class T>
void vq_columns(const VqOptions& o, const T* rows, int64_t d, T* columns);

// `memory` as OVQ's, but that `keys` holds [C] numbers, the codes of the chunk's tokens.
template <class T>
struct VqOutputs {
  View<T, 2> out;              // [T, dv]
  View<T, 1> lse = {};         // [T]; may be null
  View<int32_t, 1> rows = {};  // [T], the code of every token; may be null
};
template <class T>
void vq_forward(const VqOptions& o, const OvqTokens<T>& x, const VqCodebook<T>& book, OvqMemory<T>& memory,
                const VqOutputs<T>& to, Arena& scratch);

// From an empty memory. Returns the gradient of s.
template <class T>
struct VqBackwardArgs {
  View<const T, 2> out;         // [T, dv]
  View<const T, 1> lse;         // [T]
  View<const int32_t, 1> rows;  // [T]
  View<const T, 2> gout;        // [T, dv]
  int64_t tokens;               // of the batch: gcodes has weight 2/tokens
  View<T, 2> gq, gk, gv;        // like q, k and v; written
  T* gcodes;                    // [N, d], added to
};
template <class T>
double vq_backward(const VqOptions& o, const OvqTokens<T>& x, const VqCodebook<T>& book, const VqBackwardArgs<T>& in,
                   Arena& scratch);

}  // namespace quern::mixers
