// Mamba-1's selective scan of one head: D channels with N states each; B and C are shared by the channels.
//   Δ_t = softplus(dt_t + bias)
//   S_t[n, c] = exp(Δ_t[c]·A[n, c])·S_{t−1}[n, c] + Δ_t[c]·B_t[n]·x_t[c]
//   y_t[c] = (Σ_n S_t[n, c]·C_t[n] + D[c]·x_t[c])·SiLU(z_t[c])                        without z: no gate
// A = −exp(A_log) is precomputed with states outermost [N, D]: a vector of channels then passes all its states without
// a sum across lanes, its N state vectors in the first-level cache for the whole segment. Cost per token and channel:
// N exponentials and 6·N flops; one step reads and writes 8·N bytes of state.
#pragma once
#include <cstdint>
#include <span>

#include "quern/base/arena.h"
#include "quern/tensor/view.h"

namespace quern::kernels {

constexpr int64_t kScanStates = 128;  // N at most

template <class T>
struct ScanInputs {
  View<const T, 2> x, dt, z;  // [T, D]; z may be null
  View<const T, 2> b, c;      // [T, N]
  View<const T, 2> a;         // [N, D], contiguous
  View<const T, 1> d, bias;   // [D]
  std::span<const int32_t> offsets = {};
};

// states: [N, D] per segment (rows may be strided), continued and left at its end; none: segments start from zero.
template <class T>
void selective_scan(const ScanInputs<T>& in, std::span<const View<T, 2>> states, View<T, 2> y, Arena& scratch);

template <class T>
struct ScanGrads {
  View<T, 2> gx, gdt, gz, gb, gc;  // written; gz null where z is
  View<T, 2> ga;                   // [N, D], added to, as the next two
  View<T, 1> gd, gbias;
};
template <class T>
void selective_scan_backward(const ScanInputs<T>& in, View<const T, 2> gy, ScanGrads<T> grads, Arena& scratch);

}  // namespace quern::kernels
