// Online vector-quantized (OVQ) attention (arXiv 2602.03922), one head at a time. A dictionary of at most N rows
// replaces the past; row n keeps the number of tokens assigned to it, c, and the sums of their keys and values, S_k
// and S_v, so that the exact running means D = S/c cost one addition per token. Time is split into chunks of C tokens:
//   read   logits s·q·D_k,n + log c_n over the rows as they were when the chunk began, s·q·k_j over the chunk's own
//          tokens so far; o = softmax · [D_v ; v].  With e_n = e^(s·q·D_k,n − max):  o = (Σ e_n S_v,n + Σ e_j v_j) /
//          (Σ c_n e_n + Σ e_j): the count bias takes no logarithm and the mean values no division.
//   write  when a chunk is full, the tokens least similar to the rows open new rows (as many as the schedule grants),
//          every other token is assigned to the row whose key is most similar. No gradient flows through the choice.
// Clusters of identical keys make it exact softmax attention. State of a head: d·N + N·dv + N sums and a chunk of
// tokens. Cost of a token, for any context length: (N + C/2)(d + dv) multiply-adds to read and N·d to write.
#pragma once
#include <cstdint>
#include <string_view>

#include "quern/base/arena.h"
#include "quern/tensor/view.h"

namespace quern::mixers {

// Rows that live after t tokens: plateau ⌊t·N/(t + N)⌋, greedy t, linear ⌊t·N/horizon⌋; all at most N.
enum class OvqGrowth { plateau, greedy, linear };
OvqGrowth ovq_growth(std::string_view name);  // throws Error
std::string_view name_of(OvqGrowth g);

struct OvqOptions {
  int64_t rows = 1024, chunk = 128;
  OvqGrowth growth = OvqGrowth::plateau;
  int64_t horizon = 0;        // of linear growth
  bool spread = true;         // the least similar tokens open rows; false: tokens drawn at random (an ablation)
  bool count_bias = true;     // false: counts are for the means alone
  bool normalize = false;     // read keys as S/‖S‖, not S/c
  bool delta_values = false;  // a row's value moves by what its readout lacked: D_v += (v − readout(k)) / c
};
void check(const OvqOptions& o, const char* where);  // throws Error naming the field
int64_t ovq_rows_after(const OvqOptions& o, int64_t tokens);

// Elements of a row of the transposed keys: N, and a few more, so that walking down a column does not fall into one
// set of the cache again and again.
inline int64_t ovq_key_stride(int64_t rows) { return (rows + 15) / 16 * 16 + 16; }

// What a head remembers: sums, and the tokens of the chunk that is not yet full (seen mod C of them).
template <class T>
struct OvqMemory {
  T* keys = nullptr;          // [d, stride(N)], transposed
  T* values = nullptr;        // [N, dv]
  T* counts = nullptr;        // [N]
  T* chunk_keys = nullptr;    // [d, stride(C)], transposed
  T* chunk_values = nullptr;  // [C, dv]
  int64_t live = 0, seen = 0;
  static int64_t elements(const OvqOptions& o, int64_t d, int64_t dv);
  static OvqMemory in(T* zeros, const OvqOptions& o, int64_t d, int64_t dv);  // laid out in so many elements
};

// One head of one sequence, T tokens behind those the memory has seen.
template <class T>
struct OvqTokens {
  View<const T, 2> q, k, v;  // [T, d], [T, d], [T, dv]
  double scale = 1;          // s
};
template <class T>
struct OvqKept {  // for backward; all may be null
  View<T, 1> lse;
  View<int32_t, 1> rows;  // which row each token was written to; tokens of an unfinished chunk have none
};

template <class T>
void ovq_forward(const OvqOptions& o, const OvqTokens<T>& x, OvqMemory<T>& memory, View<T, 2> out, OvqKept<T> kept,
                 Arena& scratch);

// The same by the book: running means moved token by token, a softmax written out for every query.
void ovq_forward_ref(const OvqOptions& o, const OvqTokens<double>& x, View<double, 2> out, View<int32_t, 1> rows);

// From an empty memory. Returns the gradient of the scale s.
template <class T>
struct OvqBackwardArgs {
  View<const T, 2> out;  // [T, dv]
  OvqKept<T> kept;
  View<const T, 2> gout;  // [T, dv]
  View<T, 2> gq, gk, gv;  // like q, k and v; written
};
template <class T>
double ovq_backward(const OvqOptions& o, const OvqTokens<T>& x, const OvqBackwardArgs<T>& in, Arena& scratch);

}  // namespace quern::mixers
