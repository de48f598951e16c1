#include "quern/corpus/sketch/minhash.h"

#include <algorithm>

#include "quern/base/cpu.h"
#include "quern/base/error.h"
#include "quern/corpus/bytes/hashing.h"
#include "quern/corpus/sketch/minhash_simd.h"

namespace quern::corpus {
namespace {

const MinhashTable& table() {
  switch (active_isa()) {
    case Isa::avx2:
      return minhash_avx2;
    case Isa::avx512:
      return minhash_avx512;
    case Isa::ref:
      break;
  }
  return minhash_ref;
}

}  // namespace

void datasketch_rows(const Permutations& p, std::span<const uint32_t> hashes, std::span<uint32_t> rows) {
  QUERN_CHECK(p.a.size() == rows.size() && p.b.size() == rows.size());
  std::fill(rows.begin(), rows.end(), kEmptyRow);
  const MinhashTable& t = rows.size() % 64 == 0 ? table() : minhash_ref;
  t.datasketch(p.a.data(), p.b.data(), rows.size(), hashes.data(), hashes.size(), rows.data());
}

void murmur_rows(std::span<const uint32_t> seeds, std::string_view text, std::span<const uint32_t> begin,
                 std::span<const uint32_t> end, std::span<uint32_t> rows) {
  QUERN_CHECK(seeds.size() == rows.size() && begin.size() == end.size());
  std::fill(rows.begin(), rows.end(), kEmptyRow);
  const MinhashTable& t = rows.size() % 64 == 0 ? table() : minhash_ref;
  t.murmur(seeds.data(), rows.size(), {text.data(), begin.data(), end.data(), begin.size()}, rows.data());
}

void one_permutation_rows(std::span<const uint64_t> hashes, std::span<uint32_t> rows) {
  std::fill(rows.begin(), rows.end(), kEmptyRow);
  if (hashes.empty()) return;
  const uint64_t n = rows.size();
  for (uint64_t h : hashes) {
    // The upper bits choose the row, the lower ones are its value.
    const auto row = static_cast<size_t>((static_cast<unsigned __int128>(h) * n) >> 64);
    rows[row] = std::min(rows[row], static_cast<uint32_t>(h));
  }
  uint64_t filled[8] = {};  // copies must come from rows that were filled by shingles
  QUERN_CHECK(n <= 512);
  bool full = true;
  for (size_t i = 0; i < n; ++i) {
    const bool has = rows[i] != kEmptyRow;
    full = full && has;
    filled[i / 64] |= uint64_t{has} << (i % 64);
  }
  if (full) return;
  for (size_t i = 0; i < n; ++i) {
    if (filled[i / 64] >> (i % 64) & 1) continue;
    for (uint64_t k = 1;; ++k) {
      const uint64_t from = (static_cast<unsigned __int128>(fold64(i * kFoldA + k, kFoldB)) * n) >> 64;
      if (filled[from / 64] >> (from % 64) & 1) {
        rows[i] = rows[from];
        break;
      }
      if (k > 100'000) return;  // only when every shingle hashed to 2^32 − 1
    }
  }
}

void sha1_low32(std::string_view text, std::span<const uint32_t> begin, std::span<const uint32_t> end,
                std::span<uint32_t> out) {
  QUERN_CHECK(begin.size() == out.size() && end.size() == out.size());
  table().sha1(text.data(), begin.data(), end.data(), out.size(), out.data());
}

}  // namespace quern::corpus
