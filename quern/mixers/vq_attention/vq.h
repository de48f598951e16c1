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

namespace quern {

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

// `memory` as OVQ's, but that `keys` holds [C] numbers, the codes of the chunk's tokens. rows [T]: the code of every
// token.
template <class T>
void vq_forward(const VqOptions& o, const OvqTokens<T>& x, const VqCodebook<T>& book, OvqMemory<T>& memory,
                View<T, 2> out, View<T, 1> lse, View<int32_t, 1> rows, Arena& scratch);

// From an empty memory; gradients are written, gcodes [N, d] added to with weight 2/tokens. Returns that of s.
template <class T>
double vq_backward(const VqOptions& o, const OvqTokens<T>& x, const VqCodebook<T>& book, View<const T, 2> out,
                   View<const T, 1> lse, View<const int32_t, 1> rows, View<const T, 2> gout, int64_t tokens,
                   View<T, 2> gq, View<T, 2> gk, View<T, 2> gv, T* gcodes, Arena& scratch);

}  // namespace quern
