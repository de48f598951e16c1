// SHA-1 and Murmur3 over lanes, written once for any width: V is a vector of 32-bit words in GCC's extension. Included
// only by the files of the instruction sets. SHA-1: a lane is a message. Murmur3: a lane is a row, all rows at one
// window; the seed-free half of a step is computed once per window.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "quern/corpus/sketch/minhash_simd.h"

namespace quern::corpus {

template <class V>
V lanes_rotl(V x, int n) {
  return x << n | x >> (32 - n);
}

template <class V>
void sha1_lanes(const char* text, const uint32_t* begin, const uint32_t* end, size_t n, uint32_t* out) {
  constexpr size_t kLanes = sizeof(V) / 4;
  for (size_t first = 0; first < n; first += kLanes) {
    const size_t lanes = std::min(kLanes, n - first);
    uint32_t blocks[kLanes] = {};
    uint32_t maximum = 0;
    for (size_t l = 0; l < lanes; ++l) {
      blocks[l] = (end[first + l] - begin[first + l] + 8) / 64 + 1;
      maximum = std::max(maximum, blocks[l]);
    }
    V h0 = V{} + 0x67452301u, h1 = V{} + 0xEFCDAB89u, h2 = V{} + 0x98BADCFEu, h3 = V{} + 0x10325476u,
      h4 = V{} + 0xC3D2E1F0u;
    for (uint32_t block = 0; block < maximum; ++block) {
      alignas(64) uint32_t words[16][kLanes];
      V live = V{};
      for (size_t l = 0; l < lanes; ++l) {
        const char* data = text + begin[first + l];
        const size_t size = end[first + l] - begin[first + l], at = size_t{block} * 64;
        alignas(64) unsigned char padded[64];
        const unsigned char* from = reinterpret_cast<const unsigned char*>(data) + at;
        live[l] = block < blocks[l] ? ~0u : 0u;
        if (at + 64 > size) {
          std::memset(padded, 0, 64);
          if (at < size) std::memcpy(padded, data + at, size - at);
          if (size >= at) padded[size - at] = 0x80;
          if (block + 1 == blocks[l]) {
            const uint64_t bits = __builtin_bswap64(uint64_t{size} * 8);
            std::memcpy(padded + 56, &bits, 8);
          }
          from = padded;
        }
        for (int t = 0; t < 16; ++t) {
          uint32_t w;
          std::memcpy(&w, from + 4 * t, 4);
          words[t][l] = __builtin_bswap32(w);
        }
      }
      V w[16];
      for (int t = 0; t < 16; ++t) std::memcpy(&w[t], words[t], sizeof(V));
      V a = h0, b = h1, c = h2, d = h3, e = h4;
      auto step = [&](V f, uint32_t k, V x) {
        const V next = lanes_rotl(a, 5) + f + e + x + k;
        e = d, d = c, c = lanes_rotl(b, 30), b = a, a = next;
      };
      auto word = [&](int t) {
        if (t >= 16) w[t & 15] = lanes_rotl(w[(t - 3) & 15] ^ w[(t - 8) & 15] ^ w[(t - 14) & 15] ^ w[t & 15], 1);
        return w[t & 15];
      };
#pragma GCC unroll 20
      for (int t = 0; t < 20; ++t) step(d ^ (b & (c ^ d)), 0x5A827999u, word(t));
#pragma GCC unroll 20
      for (int t = 20; t < 40; ++t) step(b ^ c ^ d, 0x6ED9EBA1u, word(t));
#pragma GCC unroll 20
      for (int t = 40; t < 60; ++t) step((b & c) | (d & (b | c)), 0x8F1BBCDCu, word(t));
#pragma GCC unroll 20
      for (int t = 60; t < 80; ++t) step(b ^ c ^ d, 0xCA62C1D6u, word(t));
      h0 += a & live, h1 += b & live, h2 += c & live, h3 += d & live, h4 += e & live;
    }
    for (size_t l = 0; l < lanes; ++l) out[first + l] = __builtin_bswap32(h0[l]);
  }
}

static inline uint32_t lanes_murmur_word(uint32_t k) {
  k *= 0xcc9e2d51u;
  return (k << 15 | k >> 17) * 0x1b873593u;
}

// kGroup vectors of rows at a time stay in registers.
template <class V, int kGroup, class Min>
void murmur_lanes(const uint32_t* seeds, size_t rows, const TextRanges& windows, uint32_t* acc, Min minimum) {
  const auto [text, begin, end, n] = windows;
  constexpr size_t kStep = sizeof(V) / 4 * kGroup;
  for (size_t row = 0; row < rows; row += kStep) {
    V seed[kGroup], best[kGroup];
    for (int g = 0; g < kGroup; ++g) {
      std::memcpy(&seed[g], seeds + row + g * (sizeof(V) / 4), sizeof(V));
      std::memcpy(&best[g], acc + row + g * (sizeof(V) / 4), sizeof(V));
    }
    for (size_t s = 0; s < n; ++s) {
      const char* p = text + begin[s];
      const uint32_t size = end[s] - begin[s];
      V h[kGroup];
      for (int g = 0; g < kGroup; ++g) h[g] = seed[g];
      uint32_t i = 0;
      for (; i + 4 <= size; i += 4) {
        uint32_t k;
        std::memcpy(&k, p + i, 4);
        k = lanes_murmur_word(k);
        for (int g = 0; g < kGroup; ++g) h[g] = lanes_rotl(h[g] ^ k, 13) * 5 + 0xe6546b64u;
      }
      uint32_t tail = 0;
      for (uint32_t j = size; j > i; --j) tail = tail << 8 | static_cast<unsigned char>(p[j - 1]);
      tail = (i < size ? lanes_murmur_word(tail) : 0) ^ size;
      for (int g = 0; g < kGroup; ++g) {
        V x = h[g] ^ tail;
        x = (x ^ x >> 16) * 0x85ebca6bu;
        x = (x ^ x >> 13) * 0xc2b2ae35u;
        best[g] = minimum(best[g], x ^ x >> 16);
      }
    }
    for (int g = 0; g < kGroup; ++g) std::memcpy(acc + row + g * (sizeof(V) / 4), &best[g], sizeof(V));
  }
}

}  // namespace quern::corpus
