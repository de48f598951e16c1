// 64 characters at a time, as ascii_words_avx512.cc does it, with AVX2 and BMI2. AVX2 cannot compress a register, so that eight characters at a
// time are moved together by a shuffle that a table gives for the mask of those that stay.
#include <immintrin.h>

#include <array>
#include <bit>
#include <cstring>

#include "quern/corpus/text/ascii_words.h"
#include "quern/corpus/text/word_masks.h"

namespace quern::corpus {
namespace {

constexpr std::array<uint64_t, 256> kMovedTogether = [] {
  std::array<uint64_t, 256> table{};
  for (unsigned mask = 0; mask < 256; ++mask)
    for (unsigned from = 0, to = 0; from < 8; ++from)
      if (mask >> from & 1) table[mask] |= uint64_t{from} << (8 * to++);
  return table;
}();

// Characters are below 0x80: signed comparisons serve.
__m256i in_range(__m256i x, int low, int high) {
  return _mm256_and_si256(_mm256_cmpgt_epi8(x, _mm256_set1_epi8(static_cast<char>(low - 1))),
                          _mm256_cmpgt_epi8(_mm256_set1_epi8(static_cast<char>(high + 1)), x));
}

struct HalfMasks {
  __m256i text;  // lower case, white space as ' '
  uint32_t space, punct;
};

HalfMasks half(__m256i x) {
  const __m256i space = _mm256_or_si256(in_range(x, 9, 13), in_range(x, 0x1C, 0x20));
  const __m256i punct = _mm256_or_si256(_mm256_or_si256(in_range(x, 33, 47), in_range(x, 58, 64)),
                                        _mm256_or_si256(in_range(x, 91, 96), in_range(x, 123, 126)));
  const __m256i lower = _mm256_add_epi8(x, _mm256_and_si256(in_range(x, 'A', 'Z'), _mm256_set1_epi8(32)));
  return {_mm256_blendv_epi8(lower, _mm256_set1_epi8(' '), space), static_cast<uint32_t>(_mm256_movemask_epi8(space)),
          static_cast<uint32_t>(_mm256_movemask_epi8(punct))};
}

void step(const char* piece, uint64_t valid, WordState& w) {
  const HalfMasks a = half(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(piece))),
                  b = half(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(piece + 32)));
  const uint64_t space = (a.space | uint64_t{b.space} << 32) & valid;
  const uint64_t stays = valid & ~(a.punct | uint64_t{b.punct} << 32);
  if (stays == 0) return;
  uint64_t kept = _pdep_u64(written_of_pressed(space, stays, w), stays);
  char* out = w.out + w.n;
  w.n += static_cast<size_t>(std::popcount(kept));
  alignas(32) char text[64];
  _mm256_store_si256(reinterpret_cast<__m256i*>(text), a.text);
  _mm256_store_si256(reinterpret_cast<__m256i*>(text + 32), b.text);
  for (int i = 0; i < 64; i += 8, kept >>= 8) {
    const __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(text + i));
    const __m128i order = _mm_cvtsi64_si128(static_cast<int64_t>(kMovedTogether[kept & 0xFF]));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_shuffle_epi8(eight, order));
    out += std::popcount(kept & 0xFF);
  }
}

}  // namespace

void ascii_words_avx2(const char* piece, size_t n, WordState& w) {
  WordState local = w;
  size_t i = 0;
  for (; i + 64 <= n; i += 64) step(piece + i, ~uint64_t{0}, local);
  if (i < n) {
    alignas(32) char rest[64] = {};
    std::memcpy(rest, piece + i, n - i);
    step(rest, ~uint64_t{0} >> (64 - (n - i)), local);
  }
  w = local;
}

}  // namespace quern::corpus
