// The peak of bytes, with vpdpbusd.
#include <immintrin.h>

#include "quern/kernels/cpu/peak_loop.h"

namespace quern::kernels {
namespace {

struct Bytes {
  static __m512i start(int i) { return _mm512_set1_epi32(i); }
  static __m512i step(__m512i x) { return _mm512_dpbusd_epi32(x, _mm512_set1_epi8(1), _mm512_set1_epi8(-1)); }
  static __m512i add(__m512i a, __m512i b) { return _mm512_add_epi32(a, b); }
};

}  // namespace

int peak_int8_avx512vnni(int64_t steps) { return peak_loop<Bytes, int>(steps); }

}  // namespace quern::kernels
