// W [V, D] of the losses at the head: it lies there as a whole, or a function writes any rows of it, and it exists a
// block of rows at a time. Blocks cost no memory that grows with V, and are written again for every chunk of tokens.
// In blocks g·W is a sum over blocks: bit for bit the whole product where products add up their depth in order (bf16
// rows or floats by tiles of registers; gemm_rounded.cc, gemm_panels.cc), else the same up to rounding.
#pragma once
#include <functional>

#include "quern/base/arena.h"
#include "quern/kernels/gemm/gemm.h"
#include "quern/tensor/view.h"

namespace quern::kernels {

template <class T>
class HeadMatrix {
 public:
  // W[begin : begin + rows.shape[0]]
  using WriteRows = std::function<void(int64_t begin, View<T, 2> rows)>;

  HeadMatrix() = default;
  HeadMatrix(View<const T, 2> all) : all_(all), vocab_(all.shape[0]), width_(all.shape[1]) {}
  // A block has about so many elements: 16 MiB in f32, read back from the last cache by the product that follows.
  static constexpr int64_t kBlockElements = 1 << 22;
  HeadMatrix(int64_t vocab, int64_t width, WriteRows write, int64_t block_elements = kBlockElements);

  int64_t vocab() const { return vocab_; }
  int64_t width() const { return width_; }
  // o: whether products round their operands to bf16.
  void logits(View<const T, 2> h, View<T, 2> out, GemmOptions o, Arena& scratch) const;         // out = h·Wᵀ
  void input_gradient(View<const T, 2> g, View<T, 2> gh, GemmOptions o, Arena& scratch) const;  // gh = g·W
  View<const T, 2> whole(Arena& scratch) const;  // for references: written into the scratch if it does not lie there

 private:
  template <class F>
  void each_block(Arena& scratch, F&& f) const;  // f(begin, rows)

  View<const T, 2> all_;
  WriteRows write_;
  int64_t vocab_ = 0, width_ = 0, block_ = 0;  // rows
};

}  // namespace quern::kernels
