// Block formats of GGUF: weights in short runs along a row, each run with its own scales. Every product below is exact
// in f32 (an f16 scale has 11 bits, a sub-scale at most 8, a weight at most 6), so only the subtraction of q4_k
// rounds, and results do not depend on the instruction set.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace quern {

enum class GgufType : uint32_t { f32 = 0, f16 = 1, q8_0 = 8, q4_k = 12, q6_k = 14, bf16 = 30 };

struct GgufFormat {
  GgufType type;
  std::string_view name;
  int64_t elements, bytes;  // of a block; 1 element for f32, f16 and bf16
};

const GgufFormat* gguf_format(uint32_t type);  // nullptr: not one of ours
// `blocks` blocks of q8_0, q4_k or q6_k to f32, on all threads.
void gguf_dequantize(GgufType type, const std::byte* from, int64_t blocks, float* to);

}  // namespace quern
