// Matrix tiles (AMX): blocks of C[16·rows, 16·columns] (+)= A·B, by the instructions or, bit for bit the same, by plain
// C++ (`emulated`), so that everything above this header is tested on any processor.
//
// A step is 32 values of k in bf16, 64 in bytes. A tile of A holds 16 rows of one step, 64 bytes a row. A tile of B holds
// a step of 16 columns as 16 rows of 64 bytes: row p has the pairs (2p, 2p + 1) of bf16, or four bytes from 4p on, of
// every column. That is what a panel of packed weights holds, four tiles side by side: rows of 256 bytes, 4096 a step
// (packed_linear.cc, quant_layout.h). A tile of C is 16 × 16 f32 or i32, 1024 bytes in a row.
//
// What an instruction computes, in this order: for a row and column, the even and the odd values of k are summed apart
// by fused multiply-adds from zero, both sums are added, and the result is added to C. Subnormal inputs and results
// count as zero of their sign. So 32 aligned values of k are the unit of order, and rows do not see each other: any
// blocking of rows, columns and k by whole steps gives the same bits.
#pragma once
#include <cstdint>

namespace quern::kernels {

constexpr int64_t kAmxTile = 1024;     // bytes
constexpr int64_t kAmxRows = 16;       // of a tile
constexpr int64_t kAmxStepBytes = 64;  // of a row in one step

// The tile of A at strip i and step s begins at a + i·a_strip + s·a_step, a_row bytes from row to row, that of B at column group j at
// b + j·b_tile + s·b_step with b_row bytes from row to row, that of C at c + i·c_strip + j·1024.
struct AmxBlock {
  const uint8_t* a = nullptr;
  int64_t a_strip = 0, a_step = 0, a_row = kAmxStepBytes;
  const uint8_t* b = nullptr;
  int64_t b_tile = 0, b_step = 0, b_row = 0;
  uint8_t* c = nullptr;
  int64_t c_strip = 0;
  int64_t steps = 0;
  bool add = false;   // to what C holds
  int64_t ahead = 0;  // bytes: B is fetched into the first-level cache that far ahead; 0 = not
};

// Strips of 16 rows × groups of 16 columns.
struct AmxBlocks {
  void (*two_by_two)(const AmxBlock&);
  void (*one_by_two)(const AmxBlock&);
  void (*one_by_four)(const AmxBlock&);
};

struct AmxKernels {
  AmxBlocks bf16, bytes;  // bytes: A unsigned, B signed, sums of 32 bits that wrap around
  // A panel's steps [step][16][256 bytes] as tiles [step][4][1024 bytes].
  void (*to_tiles)(const uint8_t* from, int64_t steps, uint8_t* to);
  void (*configure)();  // of the calling thread, before its first block
  void (*release)();
};

const AmxKernels& amx_kernels();  // of bf16_products(), which must be amx or emulated
const AmxKernels& amx_kernels_amx();
const AmxKernels& amx_kernels_emulated();

// A thread's tiles are configured while this lives. Nothing in between may wait, call back or throw.
class AmxScope {
 public:
  explicit AmxScope(const AmxKernels& k) : k_(k) { k_.configure(); }
  ~AmxScope() { k_.release(); }
  AmxScope(const AmxScope&) = delete;
  AmxScope& operator=(const AmxScope&) = delete;

 private:
  const AmxKernels& k_;
};

// One instruction on tiles in memory: c [16][16] += a [16 rows of a_row bytes] · b [16 rows of b_row bytes].
void amx_dot_bf16(const uint8_t* a, int64_t a_row, const uint8_t* b, int64_t b_row, float* c);
void amx_dot_bytes(const uint8_t* a, int64_t a_row, const uint8_t* b, int64_t b_row, int32_t* c);

}  // namespace quern::kernels
