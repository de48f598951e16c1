// Mamba-2's state space layer (SSD). H heads of P channels, G groups of heads that share B and C of N states; head h
// reads group h / (H / G). Per head, with a state S [N, P]:
//   Δ_t = clamp(softplus(dt_t + bias), dt_min, dt_max),  a_t = −exp(A_log)·Δ_t
//   S_t = exp(a_t)·S_{t−1} + Δ_t·B_t·x_tᵀ,               y_t = S_tᵀ·C_t + D·x_t
// Many rows run in chunks of kSsdChunk as matrix products (s_i = Σ_{k≤i} a_k inside a chunk, S entering it):
//   Y = ((C·Bᵀ) ∘ L)·ΔX + diag(e^s)·C·S + D·X,  L_ij = e^(s_i − s_j) for j ≤ i, masked before exp
//   S ← e^(s_last)·S + Bᵀ·diag(e^(s_last − s))·ΔX
// and fewer than kSsdStepRows rows step by step: the state is read and written once per token. The state is stored [N,
// P], not [P, N]: both forms then run along contiguous channels and nothing is transposed. Cost per token and head:
// Q·P + 4·N·P flops and a share of 2·Q·N for C·Bᵀ; one step 6·N·P flops and 8·N·P bytes.
#pragma once
#include <cstdint>
#include <limits>
#include <span>

#include "quern/base/arena.h"
#include "quern/tensor/view.h"

namespace quern::kernels {

constexpr int64_t kSsdChunk = 64;
constexpr int64_t kSsdStepRows = 8;

// Rows may be strided: x, b, c and dt are windows of wider buffers.
template <class T>
struct SsdInputs {
  View<const T, 2> x;               // [T, H·P]
  View<const T, 2> b, c;            // [T, G·N]
  View<const T, 2> dt;              // [T, H], before bias and softplus
  View<const T, 1> a_log, d, bias;  // [H]
  int64_t n_group = 1;
  double dt_min = 0, dt_max = std::numeric_limits<double>::infinity();
  std::span<const int32_t> offsets = {};

  int64_t heads() const { return dt.shape[1]; }
  int64_t head_dim() const { return x.shape[1] / heads(); }
  int64_t n_state() const { return b.shape[1] / n_group; }
};

// states: a contiguous [H, N, P] per segment, continued and left at its end; none: segments start from zero.
template <class T>
void ssd(const SsdInputs<T>& in, std::span<const View<T, 3>> states, View<T, 2> y, Arena& scratch);

template <class T>
struct SsdGrads {
  View<T, 2> gx, gb, gc, gdt;    // written
  View<T, 1> ga_log, gd, gbias;  // added to
};
// Segments start from zero and nothing is asked of their final states.
template <class T>
void ssd_backward(const SsdInputs<T>& in, View<const T, 2> gy, SsdGrads<T> grads, Arena& scratch);

}  // namespace quern::kernels
