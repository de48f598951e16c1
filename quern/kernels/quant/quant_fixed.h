// Fixed-point multiplication of up to four rows with weights as they are stored. The bf16 values of a block of K (q8:
// 64, q4: a group) get a common scale 2^-s and become 16-bit integers, split into a signed upper and a signed lower
// byte; both are multiplied by the 8- or 4-bit weights in byte products, and the sum over a block is exact (a zero
// point is subtracted in f32). A value is exact too unless it is below a 64th (some: a 128th) of the largest of its
// block; the error is at most a 32640th of that largest. A block with an infinity or a NaN has a NaN as its scale, and
// so have all its sums.
#pragma once
#include <cstdint>

namespace quern::kernels {

constexpr int kFixedRows = 4;
constexpr int64_t kFixedQ8Block = 64;

// One row: bf16 values as eight bytes of upper and eight of lower halves for every eight values, in the order in which
// the kernels want them; per block the scale and the sum of the whole numbers.
struct QuantToFixed {
  const uint16_t* x;
  int64_t n, block;  // n: a multiple of 32, zeros behind K; values of a block
  bool four;         // the order for weights of 4 bits
  uint32_t* to;
  float* scales;
  int32_t* sums;
  int64_t stride;  // between the scales and sums of neighboring blocks
};
void quant_to_fixed(QuantToFixed a);

struct QuantRowBlock;
// The strip's x holds what quant_to_fixed made, [k / 2][rows]; fixed_scales and fixed_sums are [block][rows].
void quant_q8_fixed(const QuantRowBlock& row_block);
void quant_q4_fixed(const QuantRowBlock& row_block);
// Bytes as they are, up to 16 rows.
void quant_q8a8_row_block(const QuantRowBlock& row_block);

}  // namespace quern::kernels
