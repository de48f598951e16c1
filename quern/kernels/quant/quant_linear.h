// QuantLinear: W [N, K] in int8 or 4 bits and y[T, N] = x[T, K]·Wᵀ (+ b). x is rounded to bf16, W[n, k] is the value
// that quant_layout.h defines, sums are f32, for one row as for thousands: prefill and decode compute the same. q8a8
// rounds the rows of x to int8 instead (x ≈ s_t·q, s_t = max|x_t| / 127) and sums in integers. Cost: 2·T·N·K flops;
// few rows are bound by reading W: 1 byte per weight (q8), 0.5 + 1/group (+ 1/group) bytes (q4).
#pragma once
#include <memory>
#include <span>

#include "quern/base/arena.h"
#include "quern/kernels/gemm/gemm.h"
#include "quern/kernels/quant/quant_layout.h"
#include "quern/tensor/tensor.h"

namespace quern::kernels {

class QuantLinear {
 public:
  QuantLinear() = default;
  // w: [N, K], f32 or bf16.
  static QuantLinear pack(const Tensor& w, const QuantFormat& s);
  // A blob packed earlier: u8 [bytes], 64-byte aligned, kept alive by the tensor. Throws Error naming `what`.
  static QuantLinear view(const Tensor& blob, int64_t n, int64_t k, const QuantFormat& s, std::string_view what);

  bool defined() const { return blob_.defined(); }
  int64_t n() const { return layout_.n; }
  int64_t k() const { return layout_.k; }
  const QuantFormat& scheme() const { return scheme_; }
  const Tensor& blob() const { return blob_; }
  void apply(View<const float, 2> x, View<const float, 1> bias, View<float, 2> y, Arena& scratch) const;
  void row(int64_t i, View<float, 1> out) const;  // W[i, :]
  // W[begin : begin + out.shape[0], :], on all threads; the same bits as row() gives
  void rows(int64_t begin, View<float, 2> out) const;
  // out = g·W[begin : begin + g.shape[1], :], or added to out with beta 1. Sums of f32 FMAs in the order of W's rows,
  // nothing rounded: where bf16 products are asked for and faster than that, this refuses to be called.
  void apply_transposed(View<const float, 2> g, int64_t begin, View<float, 2> out, GemmOptions o,
                        Arena& scratch) const;
  static bool multiplies_in_f32(GemmOptions o);

  // Several matrices of one shape and scheme, each with rows of its own, as one piece of work: threads stream from
  // one matrix into the next. False, and nothing done, where they are better applied one by one (differing shapes,
  // many rows, no strips on this machine).
  struct Group {
    const QuantLinear* w = nullptr;
    int64_t begin = 0, end = 0;  // rows of x and y
  };
  static bool apply_together(std::span<const Group> groups, View<const float, 2> x, View<float, 2> y, Arena& scratch);

 private:
  QuantLayout layout_;
  QuantFormat scheme_;
  Tensor blob_;
};

}  // namespace quern::kernels
