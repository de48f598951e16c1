// The peaks of f32 and of bytes.
#include <immintrin.h>

#include "quern/kernels/cpu/peak_loop.h"

namespace quern::kernels {
namespace {

struct Fma {
  static __m256 start(int i) { return _mm256_set1_ps(static_cast<float>(i)); }
  static __m256 step(__m256 x) {
    return _mm256_fmadd_ps(x, _mm256_set1_ps(0.5f), _mm256_set1_ps(1.0f));
  }  // stays bounded
  static __m256 add(__m256 a, __m256 b) { return _mm256_add_ps(a, b); }
};

struct Bytes {
  static __m256i start(int i) { return _mm256_set1_epi32(i); }
  static __m256i step(__m256i x) {
    __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), _mm256_set1_epi8(-1));
    asm volatile("" : "+v"(pairs));
    return _mm256_add_epi32(x, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
  static __m256i add(__m256i a, __m256i b) { return _mm256_add_epi32(a, b); }
};

}  // namespace

float peak_f32_avx2(int64_t steps) { return peak_loop<Fma, float>(steps); }

int peak_int8_avx2(int64_t steps) { return peak_loop<Bytes, int>(steps); }

}  // namespace quern::kernels
