// The peaks of f32 and of bytes.
#include <immintrin.h>

#include "quern/kernels/cpu/peak_loop.h"

namespace quern::kernels {
namespace {

struct Fma {
  static __m512 start(int i) { return _mm512_set1_ps(static_cast<float>(i)); }
  static __m512 step(__m512 x) {
    return _mm512_fmadd_ps(x, _mm512_set1_ps(0.5f), _mm512_set1_ps(1.0f));
  }  // stays bounded
  static __m512 add(__m512 a, __m512 b) { return _mm512_add_ps(a, b); }
};

struct Bytes {
  static __m512i start(int i) { return _mm512_set1_epi32(i); }
  static __m512i step(__m512i x) {
    __m512i pairs = _mm512_maddubs_epi16(_mm512_set1_epi8(1), _mm512_set1_epi8(-1));
    asm volatile("" : "+v"(pairs));
    return _mm512_add_epi32(x, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
  }
  static __m512i add(__m512i a, __m512i b) { return _mm512_add_epi32(a, b); }
};

}  // namespace

float peak_f32_avx512(int64_t steps) { return peak_loop<Fma, float>(steps); }

int peak_int8_avx512(int64_t steps) { return peak_loop<Bytes, int>(steps); }

}  // namespace quern::kernels
