// What the entry points of fast kernels share. A kernel with fast versions describes them by a table of functions over
// raw pointers; its *_avx2.cc and *_avx512.cc fill one table each, and the main .cc asks for the active one. Parameter
// gradients: rows are split into one part per thread, every part sums into a row of its own, and the rows are added in
// part order, so that the same thread count gives the same bits.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "quern/base/arena.h"
#include "quern/base/cpu.h"
#include "quern/base/threads.h"
#include "quern/tensor/view.h"

namespace quern::kernels {

// Elements one thread should get at least: 64 KiB of f32 take about 10 µs to stream, what starting a thread costs.
constexpr int64_t kGrainElements = 16384;

inline int64_t grain_rows(int64_t row_elements) { return kGrainElements / std::max<int64_t>(1, row_elements) + 1; }

// Outputs from this size on are stored past the cache: nothing of them would survive in a cache share of some MiB
// until their reader comes, and an ordinary store first reads the line it overwrites.
constexpr int64_t kStreamBytes = int64_t{16} << 20;

// Non-temporal stores want whole aligned vectors: 64 bytes serve every width.
template <class T, int R>
bool stream_stores(const View<T, R>& out) {
  bool aligned = reinterpret_cast<uintptr_t>(out.data) % 64 == 0;
  for (int i = 0; i + 1 < R; ++i) aligned = aligned && out.stride[i] * static_cast<int64_t>(sizeof(T)) % 64 == 0;
  return aligned && out.size() * static_cast<int64_t>(sizeof(T)) >= kStreamBytes;
}

template <class Table>
const Table* fast_table(const Table& avx2, const Table& avx512) {  // null: run the reference
  switch (active_isa()) {
    case Isa::ref:
      return nullptr;
    case Isa::avx2:
      return &avx2;
    case Isa::avx512:
      return &avx512;
  }
  return nullptr;
}

// f(begin, end, sums) over parts of [0, rows); sums[i] has the length of outs[i] and starts at zero (null where
// outs[i] is null), and is added to outs[i] afterwards.
template <size_t N, class F>
void parallel_sums(int64_t rows, int64_t grain, std::array<View<float, 1>, N> outs, F&& f) {
  const int64_t parts = std::clamp<int64_t>(rows / std::max<int64_t>(1, grain), 1, thread_count());
  Arena& arena = thread_arena();
  Arena::Scope scope(arena);
  std::array<float*, N> partial{};
  for (size_t i = 0; i < N; ++i)
    if (outs[i]) {
      partial[i] = arena.take<float>(parts * outs[i].shape[0]).data();
      std::fill_n(partial[i], parts * outs[i].shape[0], 0.0f);
    }
  parallel_for(parts, 1, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p) {
      std::array<float*, N> sums{};
      for (size_t i = 0; i < N; ++i)
        if (outs[i]) sums[i] = partial[i] + p * outs[i].shape[0];
      f(rows * p / parts, rows * (p + 1) / parts, sums);
    }
  });
  for (size_t i = 0; i < N; ++i)
    for (int64_t p = 0; outs[i] && p < parts; ++p)
      for (int64_t c = 0; c < outs[i].shape[0]; ++c) outs[i](c) += partial[i][p * outs[i].shape[0] + c];
}

}  // namespace quern::kernels
