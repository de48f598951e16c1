#include "quern/kernels/cross_entropy/head_matrix.h"

#include <algorithm>

namespace quern::kernels {
namespace {

// Rows of a block are a multiple of what products add up in one go, so that a sum over blocks keeps its order.
constexpr int64_t kDepth = 512;

}  // namespace

template <class T>
HeadMatrix<T>::HeadMatrix(int64_t vocab, int64_t width, WriteRows write, int64_t block_elements)
    : write_(std::move(write)),
      vocab_(vocab),
      width_(width),
      block_(std::min(vocab, std::max<int64_t>(1, block_elements / (kDepth * width)) * kDepth)) {}

template <class T>
template <class F>
void HeadMatrix<T>::each_block(Arena& scratch, F&& f) const {
  if (!write_) return f(0, all_);
  Arena::Scope scope(scratch);
  T* block = scratch.take<T>(block_ * width_).data();
  for (int64_t begin = 0; begin < vocab_; begin += block_) {
    const View<T, 2> rows(block, {std::min(block_, vocab_ - begin), width_});
    write_(begin, rows);
    f(begin, View<const T, 2>(rows));
  }
}

template <class T>
void HeadMatrix<T>::logits(View<const T, 2> h, View<T, 2> out, GemmOptions o, Arena& scratch) const {
  each_block(scratch, [&](int64_t begin, View<const T, 2> rows) {
    const View<T, 2> columns(out.data + begin, {out.shape[0], rows.shape[0]}, {out.stride[0], 1});
    gemm<T>(h, rows, columns, {.trans_b = true, .bf16 = o.bf16});
  });
}

template <class T>
void HeadMatrix<T>::input_gradient(View<const T, 2> g, View<T, 2> gh, GemmOptions o, Arena& scratch) const {
  each_block(scratch, [&](int64_t begin, View<const T, 2> rows) {
    const View<const T, 2> columns(g.data + begin, {g.shape[0], rows.shape[0]}, {g.stride[0], 1});
    gemm<T>(columns, rows, gh, {.beta = begin == 0 ? 0.0 : 1.0, .bf16 = o.bf16});
  });
}

template <class T>
View<const T, 2> HeadMatrix<T>::whole(Arena& scratch) const {
  if (!write_) return all_;
  const View<T, 2> rows(scratch.take<T>(vocab_ * width_).data(), {vocab_, width_});
  write_(0, rows);
  return rows;
}

template class HeadMatrix<float>;
template class HeadMatrix<double>;

}  // namespace quern::kernels
