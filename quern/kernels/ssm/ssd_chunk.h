// Fast f32 SSD, including threads and scratch; arguments are checked by the entry points in ssd.cc.
#pragma once
#include "quern/kernels/ssm/ssd.h"
#include "quern/kernels/ssm/ssm_simd.h"

namespace quern::kernels {

void ssd_fast(const SsdTable& f, const SsdInputs<float>& in, std::span<const View<float, 3>> states, View<float, 2> y,
              Arena& scratch);
void ssd_backward_fast(const SsdTable& f, const SsdInputs<float>& in, View<const float, 2> gy, SsdGrads<float> grads,
                       Arena& scratch);

// One work item: some heads of one group in one segment, walked chunk by chunk, so that C·Bᵀ is made once for all of
// them and their states stay in the second-level cache (8 states of 64×64 floats: 128 KiB).
constexpr int64_t kSsdHeadsPerItem = 8;
struct SsdItem {
  int64_t segment, group, block, head, heads;  // block: of this group
};
struct SsdItems {
  int64_t H, P, N, G, blocks;  // blocks: per group
  explicit SsdItems(const SsdInputs<float>& in)
      : H(in.heads()),
        P(in.head_dim()),
        N(in.n_state()),
        G(in.n_group),
        blocks((H / G + kSsdHeadsPerItem - 1) / kSsdHeadsPerItem),
        segments_(static_cast<int64_t>(in.offsets.size()) - 1) {}
  int64_t count() const { return segments_ * G * blocks; }
  SsdItem operator[](int64_t i) const {
    const int64_t per = H / G, block = i % blocks, group = i / blocks % G;
    const int64_t begin = per * block / blocks, end = per * (block + 1) / blocks;
    return {i / blocks / G, group, block, group * per + begin, end - begin};
  }

 private:
  int64_t segments_;
};

// c[m, n] (+)= Σ_k a[i, k]·b[k, :], a by its two strides, b and c with contiguous rows, n a multiple of 16. The band
// says which part of the products is there: past: k ≤ i; future: k ≥ i; columns: only columns ≤ i are wanted.
enum class Band { full, past, future, columns };
struct Product {
  const float* a;
  int64_t a_row, a_k;
  const float* b;
  int64_t b_row;
  float* c;
  int64_t c_row, m, n, k;
  bool add = false;
  Band band = Band::full;
};
void product(const Product& p);

inline int64_t pad16(int64_t n) { return (n + 15) / 16 * 16; }

// B and C of `q` tokens from `t` on, as the item's group has them: rows of N, filled with zeros to a multiple of 16.
struct SsdChunkBC {
  int64_t t, q;
  float *b, *c;
};
void copy_group(const SsdTable& f, const SsdInputs<float>& in, int64_t group, const SsdChunkBC& to);

// What both directions need of one head in one chunk: Δ, s and the factors made of them.
struct SsdChunkRates {
  float delta[kSsdChunk], s[kSsdChunk], s_lo[kSsdChunk];  // s + s_lo, summed in double
  float in[kSsdChunk];                                    // e^s: how much of the entering state an output sees
  float out[kSsdChunk];  // e^(s_last − s): how much of an input the leaving state keeps
  float carry;           // e^s_last
  // deltas: a row a token, `row` apart, this head's column.
  void fill(const SsdTable& f, const float* deltas, int64_t row, float a, int64_t q);
};

}  // namespace quern::kernels
