// MinHash signatures: 32-bit minima over a document's shingles, one per row. A document without shingles has 2^32 − 1
// in every row.
//   datasketch       from 32-bit shingle hashes h: ((a_i·h + b_i mod 2^64) mod 2^61 − 1) mod 2^32. The product wraps at
//                    64 bits before the reduction: this is what the published pipeline computes, bit for bit.
//   murmur           Murmur3_x86_32 of the shingle's bytes, once per row with the row's seed
//   one_permutation  one 64-bit hash per shingle chooses the row and gives the value; an empty row copies another one,
//                    chosen by a fixed chain of hashes (optimal densification), so equal sets stay equal
// Cost per shingle and 128 rows, AVX-512: datasketch about 100 cycles, murmur of 25 bytes about 250, one permutation
// 3.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "quern/corpus/sketch/permutations.h"

namespace quern::corpus {

constexpr uint32_t kEmptyRow = 0xffffffffu;

void datasketch_rows(const Permutations& p, std::span<const uint32_t> hashes, std::span<uint32_t> rows);
// Windows [begin[i], end[i]) of text.
void murmur_rows(std::span<const uint32_t> seeds, std::string_view text, std::span<const uint32_t> begin,
                 std::span<const uint32_t> end, std::span<uint32_t> rows);
void one_permutation_rows(std::span<const uint64_t> hashes, std::span<uint32_t> rows);

uint32_t murmur3_32(std::string_view bytes, uint32_t seed);

// First four bytes of SHA-1, little endian, of text[begin[i], end[i]).
void sha1_low32(std::string_view text, std::span<const uint32_t> begin, std::span<const uint32_t> end,
                std::span<uint32_t> out);

}  // namespace quern::corpus
