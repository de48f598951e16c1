// Memory layout of a quantized matrix W [N, K]. One blob, every part a multiple of 64 bytes:
//   panels of 64 output columns, each one sequential stream | S: one f32 scale per column | q8: Σ_k q per column, i32
// Columns are padded to 64 and K to a block with weights of value zero.
//   q8 panel:  k/4, column, k mod 4 → int8 q                        W[n, k] = S[n]·q,  −127 ≤ q ≤ 127
//   q4 panel:  groups along K, each: 64 bytes of scales e; asymmetric: 64 bytes of zero points z; then
//              k/8, column: 32 bits, weight k mod 8 = i at bit 16·(i mod 2) + 4·(i / 2) → u
//                                                                   W[n, k] = S[n]·e·(u − z),  z = 8 if symmetric
// e is a byte, the top of a float: symmetric 4 bits of exponent and 4 of mantissa (2⁻¹⁵ … 1.9375), asymmetric 5 and 3
// (2⁻³¹ … 1.875). So e·(u − z) has at most 8 significant bits: it is exact in bf16, and a product that dequantizes to
// bf16 first gives the same as one that scales afterwards. S is applied once, in f32, to the finished sum.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

#include "quern/kernels/quant/quant_format.h"

namespace quern::kernels {

struct QuantLayout {
  static constexpr int64_t kPanel = 64;
  int64_t n = 0, k = 0;
  bool four = false, asymmetric = false;
  int64_t block_k = 4, block_bytes = 0;  // q8: 4 values of k; q4: a group with its scales
  int64_t panels = 0, blocks = 0;        // blocks in a panel

  QuantLayout() = default;
  QuantLayout(int64_t n_, int64_t k_, const QuantFormat& s)
      : n(n_), k(k_), four(s.format == WeightFormat::q4), asymmetric(four && s.asymmetric) {
    block_k = four ? s.group : 4;
    block_bytes = four ? head_bytes() + kPanel * block_k / 2 : kPanel * 4;
    panels = (n + kPanel - 1) / kPanel;
    blocks = (k + block_k - 1) / block_k;
  }

  int64_t k_pad() const { return blocks * block_k; }
  int64_t head_bytes() const { return four ? (asymmetric ? 2 : 1) * kPanel : 0; }
  int64_t panel_bytes() const { return blocks * block_bytes; }
  int64_t scales_at() const { return panels * panel_bytes(); }
  int64_t sums_at() const { return scales_at() + panels * kPanel * 4; }
  int64_t bytes() const { return sums_at() + (four ? 0 : panels * kPanel * 4); }

  // Offset of weight (i, p): its byte (q8), or the byte of its nibble (q4; shift() says which half).
  int64_t at(int64_t i, int64_t p) const {
    int64_t block = (i / kPanel) * panel_bytes() + p / block_k * block_bytes, c = i % kPanel, q = p % block_k;
    if (!four) return block + 4 * c + q;
    int64_t bit = 16 * (q % 2) + 4 * (q % 8 / 2);
    return block + head_bytes() + q / 8 * (kPanel * 4) + 4 * c + bit / 8;
  }
  static int shift(int64_t p) { return p % 8 / 2 % 2 * 4; }
  int64_t group_at(int64_t i, int64_t p) const {  // of the scale byte; the zero point lies 64 bytes on
    return (i / kPanel) * panel_bytes() + p / block_k * block_bytes + i % kPanel;
  }

  static constexpr int mantissa_bits(bool asymmetric) { return asymmetric ? 3 : 4; }
  static constexpr uint32_t scale_shift(bool asymmetric) {
    return 23 - static_cast<uint32_t>(mantissa_bits(asymmetric));
  }
  static constexpr uint32_t scale_base(bool asymmetric) { return (asymmetric ? 127u - 31 : 127u - 15) << 23; }
  static float scale_of(uint8_t code, bool asymmetric) {
    return std::bit_cast<float>((uint32_t{code} << scale_shift(asymmetric)) + scale_base(asymmetric));
  }
  // The largest code whose scale is at most v (v > 0); 0 below the range.
  static int code_of(float v, bool asymmetric) {
    int64_t bits = static_cast<int64_t>(std::bit_cast<uint32_t>(v)) - scale_base(asymmetric);
    return static_cast<int>(std::clamp<int64_t>(bits >> scale_shift(asymmetric), 0, 255));
  }
};

}  // namespace quern::kernels
