// The versions of minhash.h by instruction set. Murmur windows and SHA-1 messages come as offsets into one text.
#pragma once
#include <cstddef>
#include <cstdint>

namespace quern::corpus {

struct TextRanges {  // n of them, in one text
  const char* text;
  const uint32_t *begin, *end;
  size_t n;
};

struct MinhashTable {
  // rows: a multiple of 8; acc holds the minima so far
  void (*datasketch)(const uint64_t* a, const uint64_t* b, size_t rows, const uint32_t* h, size_t n, uint32_t* acc);
  // rows: a multiple of 16
  void (*murmur)(const uint32_t* seeds, size_t rows, const TextRanges& windows, uint32_t* acc);
  void (*sha1)(const char* text, const uint32_t* begin, const uint32_t* end, size_t n, uint32_t* out);
};

extern const MinhashTable minhash_ref, minhash_avx2, minhash_avx512;

uint32_t murmur_word(uint32_t k);  // the seed-free part of a four-byte step

}  // namespace quern::corpus
