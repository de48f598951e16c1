// Signatures by their definitions, one value at a time.
#include <algorithm>
#include <bit>
#include <cstring>

#include "quern/corpus/sketch/minhash.h"
#include "quern/corpus/sketch/minhash_simd.h"

namespace quern::corpus {
namespace {

void datasketch(const uint64_t* a, const uint64_t* b, size_t rows, const uint32_t* h, size_t n, uint32_t* acc) {
  for (size_t s = 0; s < n; ++s)
    for (size_t i = 0; i < rows; ++i)
      acc[i] = std::min(acc[i], static_cast<uint32_t>((a[i] * h[s] + b[i]) % kMersenne61));
}

void murmur(const uint32_t* seeds, size_t rows, const TextRanges& windows, uint32_t* acc) {
  const auto [text, begin, end, n] = windows;
  for (size_t s = 0; s < n; ++s)
    for (size_t i = 0; i < rows; ++i)
      acc[i] = std::min(acc[i], murmur3_32({text + begin[s], end[s] - begin[s]}, seeds[i]));
}

uint32_t sha1_first_word(const unsigned char* data, size_t size) {
  uint32_t h[5] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
  const size_t blocks = (size + 8) / 64 + 1;
  for (size_t block = 0; block < blocks; ++block) {
    unsigned char bytes[64] = {};
    const size_t at = block * 64;
    if (at < size) std::memcpy(bytes, data + at, std::min<size_t>(64, size - at));
    if (size >= at && size < at + 64) bytes[size - at] = 0x80;
    if (block + 1 == blocks)
      for (int i = 0; i < 8; ++i) bytes[63 - i] = static_cast<unsigned char>(uint64_t{size} * 8 >> (8 * i));
    uint32_t w[80];
    for (int t = 0; t < 16; ++t)
      w[t] = uint32_t{bytes[4 * t]} << 24 | uint32_t{bytes[4 * t + 1]} << 16 | uint32_t{bytes[4 * t + 2]} << 8 |
             bytes[4 * t + 3];
    for (int t = 16; t < 80; ++t) w[t] = std::rotl(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
    uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
    for (int t = 0; t < 80; ++t) {
      uint32_t f = 0, k = 0;
      if (t < 20)
        f = (b & c) | (~b & d), k = 0x5A827999;
      else if (t < 40)
        f = b ^ c ^ d, k = 0x6ED9EBA1;
      else if (t < 60)
        f = (b & c) | (b & d) | (c & d), k = 0x8F1BBCDC;
      else
        f = b ^ c ^ d, k = 0xCA62C1D6;
      const uint32_t next = std::rotl(a, 5) + f + e + k + w[t];
      e = d, d = c, c = std::rotl(b, 30), b = a, a = next;
    }
    h[0] += a, h[1] += b, h[2] += c, h[3] += d, h[4] += e;
  }
  return h[0];
}

void sha1(const char* text, const uint32_t* begin, const uint32_t* end, size_t n, uint32_t* out) {
  for (size_t s = 0; s < n; ++s)
    out[s] = __builtin_bswap32(
        sha1_first_word(reinterpret_cast<const unsigned char*>(text) + begin[s], end[s] - begin[s]));
}

}  // namespace

const MinhashTable minhash_ref = {datasketch, murmur, sha1};

uint32_t murmur_word(uint32_t k) { return std::rotl(k * 0xcc9e2d51u, 15) * 0x1b873593u; }

uint32_t murmur3_32(std::string_view bytes, uint32_t seed) {
  uint32_t h = seed;
  size_t i = 0;
  for (; i + 4 <= bytes.size(); i += 4) {
    uint32_t k = 0;
    std::memcpy(&k, bytes.data() + i, 4);
    h = std::rotl(h ^ murmur_word(k), 13) * 5 + 0xe6546b64u;
  }
  uint32_t tail = 0;
  std::memcpy(&tail, bytes.data() + i, bytes.size() - i);
  if (i < bytes.size()) h ^= murmur_word(tail);
  h ^= static_cast<uint32_t>(bytes.size());
  h = (h ^ h >> 16) * 0x85ebca6bu;
  h = (h ^ h >> 13) * 0xc2b2ae35u;
  return h ^ h >> 16;
}

}  // namespace quern::corpus
