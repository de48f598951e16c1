// Matrix multiplication (GEMM). C[M,N] = A·B with either side transposed (leading dimensions through the views'
// strides); beta 0 writes, 1 adds. f32 by oneDNN, f32 rounded to bf16 by the tiles of this folder, f64 by a plain
// blocked loop. PackedLinear: W [N, K] prepacked once at load in the layout of the kernel: y[T,N] = x[T,K]·Wᵀ (+ b).
// bf16 weights: x is rounded to bf16, products accumulate in f32, y is f32. Cost: 2MNK flops; for small T (GEMV in
// decode) the weight read (N·K·2 or 4 bytes) is the bottleneck.
#pragma once
#include <memory>
#include <string>

#include "quern/base/arena.h"
#include "quern/tensor/tensor.h"

namespace quern::kernels {

struct GemmOptions {
  bool trans_a = false;  // A is given as [K, M]
  bool trans_b = false;  // B is given as [N, K]
  double beta = 0;
  bool bf16 = false;       // float: operands are rounded to bf16, sums stay f32
  bool one_order = false;  // float: elements have the same bits for any number of threads, which oneDNN's have not
};

template <class T>
void gemm(View<const T, 2> a, View<const T, 2> b, View<T, 2> c, GemmOptions o = {});

// The definition, in one triple loop; accumulates in double.
template <class T>
void gemm_ref(View<const T, 2> a, View<const T, 2> b, View<T, 2> c, GemmOptions o = {});

// Which version gemm<float> with m rows runs under active_isa().
enum class GemmPath { ref, panels, onednn, rounded };
GemmPath gemm_path(int64_t m, GemmOptions o = {});
std::string gemm_library_version();  // oneDNN's, "2.6.3"

class PackedLinear {
 public:
  PackedLinear() = default;
  // w: [N, K], f32 or bf16 (any dtype is first converted to `as`). The packed copy is owned here.
  static PackedLinear pack(const Tensor& w, DType as);
  bool defined() const { return impl_ != nullptr; }
  int64_t n() const;
  int64_t k() const;
  DType dtype() const;
  int64_t bytes() const;
  const void* data() const;  // as it lies
  // y = x·Wᵀ + b; bias may be null. y may be strided by rows.
  void apply(View<const float, 2> x, View<const float, 1> bias, View<float, 2> y, Arena& scratch) const;
  void row(int64_t i, View<float, 1> out) const;       // W[i, :], for embeddings that share the head
  void rows(int64_t begin, View<float, 2> out) const;  // W[begin : begin + out.shape[0], :], on all threads

  struct Impl;

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace quern::kernels
