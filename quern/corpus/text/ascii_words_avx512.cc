// 64 characters at a time: masks by comparison, two compressions.
#include <immintrin.h>

#include <bit>

#include "quern/corpus/text/ascii_words.h"
#include "quern/corpus/text/word_masks.h"

namespace quern::corpus {
namespace {

__mmask64 in_range(__m512i x, int low, int high) {
  return _mm512_cmple_epu8_mask(_mm512_sub_epi8(x, _mm512_set1_epi8(static_cast<char>(low))),
                                _mm512_set1_epi8(static_cast<char>(high - low)));
}

void step(__m512i x, __mmask64 valid, WordState& w) {
  const uint64_t space = (in_range(x, 9, 13) | in_range(x, 0x1C, 0x20)) & valid;
  const uint64_t upper = in_range(x, 'A', 'Z');
  const uint64_t punct = in_range(x, 33, 47) | in_range(x, 58, 64) | in_range(x, 91, 96) | in_range(x, 123, 126);
  const uint64_t stays = valid & ~punct;
  x = _mm512_mask_add_epi8(x, upper, x, _mm512_set1_epi8(32));
  x = _mm512_mask_blend_epi8(space, x, _mm512_set1_epi8(' '));
  x = _mm512_maskz_compress_epi8(stays, x);
  if (stays == 0) return;
  const uint64_t written = written_of_pressed(space, stays, w);
  _mm512_storeu_si512(w.out + w.n, _mm512_maskz_compress_epi8(written, x));
  w.n += static_cast<size_t>(std::popcount(written));
}

}  // namespace

void ascii_words_avx512(const char* piece, size_t n, WordState& w) {
  WordState local = w;
  size_t i = 0;
  for (; i + 64 <= n; i += 64) step(_mm512_loadu_si512(piece + i), ~__mmask64{0}, local);
  if (i < n) {
    const __mmask64 valid = ~uint64_t{0} >> (64 - (n - i));
    step(_mm512_maskz_loadu_epi8(valid, piece + i), valid, local);
  }
  w = local;
}

}  // namespace quern::corpus
