// Blocks of q8_0, q4_k and q6_k to f32.
#include "quern/tensor/gguf_blocks.h"

#include <cstring>

#include "quern/base/error.h"
#include "quern/base/threads.h"
#include "quern/tensor/dtype.h"

namespace quern {
namespace {

constexpr GgufFormat kFormats[] = {
    {GgufType::f32, "F32", 1, 4},     {GgufType::f16, "F16", 1, 2},       {GgufType::bf16, "BF16", 1, 2},
    {GgufType::q8_0, "Q8_0", 32, 34}, {GgufType::q4_k, "Q4_K", 256, 144}, {GgufType::q6_k, "Q6_K", 256, 210},
};

float half_at(const uint8_t* p) {
  uint16_t h;
  std::memcpy(&h, p, 2);
  return f16_to_f32(h);
}

// d, then 32 int8.
void q8_0(const uint8_t* b, float* y) {
  const float d = half_at(b);
  for (int i = 0; i < 32; ++i) y[i] = d * static_cast<float>(static_cast<int8_t>(b[2 + i]));
}

// d and dmin, 12 bytes with eight scales and eight minima of 6 bits, 128 bytes of nibbles: a run of 32 takes the low
// nibbles of 32 bytes, the next run the high ones.
void q4_k(const uint8_t* b, float* y) {
  const float d = half_at(b), dmin = half_at(b + 2);
  const uint8_t *s = b + 4, *q = b + 16;
  for (int run = 0; run < 8; ++run, y += 32) {
    int scale, minimum;
    if (run < 4) {
      scale = s[run] & 63;
      minimum = s[run + 4] & 63;
    } else {
      scale = (s[run + 4] & 15) | (s[run - 4] >> 6 << 4);
      minimum = (s[run + 4] >> 4) | (s[run] >> 6 << 4);
    }
    const float step = d * static_cast<float>(scale), low = dmin * static_cast<float>(minimum);
    const uint8_t* nibbles = q + run / 2 * 32;
    const int shift = run % 2 * 4;
    for (int i = 0; i < 32; ++i) y[i] = step * static_cast<float>((nibbles[i] >> shift) & 15) - low;
  }
}

// 128 bytes of low nibbles, 64 bytes of upper bit pairs, sixteen int8 scales (one for 16 weights), d. Each half of
// the block has four runs of 32: low nibbles of 64 bytes, then their high nibbles.
void q6_k(const uint8_t* b, float* y) {
  const float d = half_at(b + 208);
  for (int run = 0; run < 8; ++run, y += 32) {
    const int half = run / 4, r = run % 4;
    const uint8_t *low = b + half * 64 + r % 2 * 32, *high = b + 128 + half * 32, *scales = b + 192 + run * 2;
    for (int i = 0; i < 32; ++i) {
      const int q = ((low[i] >> (r / 2 * 4)) & 15) | (((high[i] >> (2 * r)) & 3) << 4);
      y[i] = d * static_cast<float>(static_cast<int8_t>(scales[i / 16])) * static_cast<float>(q - 32);
    }
  }
}

}  // namespace

const GgufFormat* gguf_format(uint32_t type) {
  for (const GgufFormat& f : kFormats)
    if (static_cast<uint32_t>(f.type) == type) return &f;
  return nullptr;
}

void gguf_dequantize(GgufType type, const std::byte* from, int64_t blocks, float* to) {
  const GgufFormat& f = *gguf_format(static_cast<uint32_t>(type));
  QUERN_CHECK(f.elements > 1, "{} has no blocks", f.name);
  auto one = type == GgufType::q8_0 ? q8_0 : type == GgufType::q4_k ? q4_k : q6_k;
  parallel_for(blocks, 4096 / f.elements, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      one(reinterpret_cast<const uint8_t*>(from) + i * f.bytes, to + i * f.elements);
  });
}

}  // namespace quern
