// Row blocks of bytes times bytes (quant_kernels.h) with byte products.
#include <array>
#include <utility>

#include "quern/kernels/quant/quant_fixed.h"
#include "quern/kernels/quant/quant_impl.h"

namespace {

using quern::kernels::QuantRowBlock;
constexpr int kMax = QuantRowBlock::kRows;

inline void fetch(const uint8_t*& p) { _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0), p += 64; }

template <int R>
void q8a8_rows(const QuantRowBlock& s) {
  constexpr int V = R <= 4 ? 4 : R <= 12 ? 2 : 1, kLine = static_cast<int>(QuantRowBlock::x_line(R));
  const uint8_t* next = s.next;
  for (int c = 0; c < 4; c += V) {
    I acc[R][V];
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) acc[i][v] = loadi(s.sums + i * 64 + (c + v) * 16);
    const uint8_t* p = s.from + c * 64;
    const uint32_t* x = s.x;
    for (int64_t b = 0; b < s.blocks; ++b, p += 256, x += kLine) {
      I w[V];
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        w[v] = loadi(p + v * 64);
        if (V < 4) fetch(next);  // one pass over everything is a stream that the hardware fetches best by itself
      }
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) acc[i][v] = _mm512_dpbusd_epi32(acc[i][v], set1i(x[i]), w[v]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) storei(s.sums + i * 64 + (c + v) * 16, acc[i][v]);
  }
}

template <int... R>
constexpr auto kernels(std::integer_sequence<int, R...>) {
  return std::array<void (*)(const QuantRowBlock&), kMax>{q8a8_rows<R + 1>...};
}
constexpr auto kKernels = kernels(std::make_integer_sequence<int, kMax>());

}  // namespace

namespace quern::kernels {

void quant_q8a8_row_block(const QuantRowBlock& s) { kKernels[static_cast<size_t>(s.rows - 1)](s); }

}  // namespace quern::kernels
