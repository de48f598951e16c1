// The peak of bf16, with vdpbf16ps.
#include <immintrin.h>

#include "quern/kernels/cpu/peak_loop.h"

namespace quern::kernels {
namespace {

struct Bf16 {
  static __m512 start(int i) { return _mm512_set1_ps(static_cast<float>(i)); }
  static __m512 step(__m512 x) {  // 1·1 + 1·(−1)
    return _mm512_dpbf16_ps(x, (__m512bh)_mm512_set1_epi32(0x3f803f80), (__m512bh)_mm512_set1_epi32(0x3f80bf80));
  }
  static __m512 add(__m512 a, __m512 b) { return _mm512_add_ps(a, b); }
};

}  // namespace

float peak_bf16_avx512bf16(int64_t steps) { return peak_loop<Bf16, float>(steps); }

}  // namespace quern::kernels
