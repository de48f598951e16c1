#include "quern/tensor/dtype.h"

#include <bit>
#include <cmath>
#include <limits>

#include "quern/base/error.h"

namespace quern {
namespace {
struct Row {
  DType t;
  int64_t size;
  std::string_view name, st;
};
constexpr Row kTypes[] = {
    {DType::f32, 4, "f32", "F32"},
    {DType::f64, 8, "f64", "F64"},
    {DType::bf16, 2, "bf16", "BF16"},
    {DType::f16, 2, "f16", "F16"},
    {DType::f8e4m3, 1, "f8e4m3", "F8_E4M3"},
    {DType::i64, 8, "i64", "I64"},
    {DType::i32, 4, "i32", "I32"},
    {DType::i8, 1, "i8", "I8"},
    {DType::u8, 1, "u8", "U8"},
    {DType::boolean, 1, "bool", "BOOL"},
};
}  // namespace

int64_t dtype_size(DType t) { return kTypes[static_cast<int>(t)].size; }
std::string_view dtype_name(DType t) { return kTypes[static_cast<int>(t)].name; }
std::string_view safetensors_name(DType t) { return kTypes[static_cast<int>(t)].st; }

DType parse_dtype(std::string_view name) {
  for (const Row& r : kTypes)
    if (r.name == name || r.st == name) return r.t;
  if (name == "float32") return DType::f32;
  if (name == "bfloat16") return DType::bf16;
  if (name == "float16") return DType::f16;
  fail("unknown element type '{}': expected f32, f64, bf16, f16, f8e4m3, i64, i32, i8, u8 or bool", name);
}

float f16_to_f32(uint16_t h) {
  uint32_t sign = uint32_t(h & 0x8000) << 16, exp = (h >> 10) & 31, man = h & 0x3ff;
  if (exp == 31) return std::bit_cast<float>(sign | 0x7f800000u | (man << 13));
  if (exp == 0) {
    float v = std::ldexp(static_cast<float>(man), -24);
    return sign ? -v : v;
  }
  return std::bit_cast<float>(sign | ((exp + 112) << 23) | (man << 13));
}

float f8e4m3_to_f32(uint8_t b) {
  uint32_t exp = (b >> 3) & 15, man = b & 7;
  if (exp == 15 && man == 7) return std::numeric_limits<float>::quiet_NaN();
  float v = exp == 0 ? std::ldexp(static_cast<float>(man), -9)
                     : std::ldexp(1 + static_cast<float>(man) / 8, static_cast<int>(exp) - 7);
  return b & 0x80 ? -v : v;
}

}  // namespace quern
