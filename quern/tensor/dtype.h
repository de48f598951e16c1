// Element types, and the names safetensors gives them.
#pragma once
#include <cstdint>
#include <string_view>

#include "quern/base/bf16.h"

namespace quern {

enum class DType : uint8_t { f32, f64, bf16, f16, f8e4m3, i64, i32, i8, u8, boolean };

int64_t dtype_size(DType t);
std::string_view dtype_name(DType t);        // "f32"
std::string_view safetensors_name(DType t);  // "F32"
DType parse_dtype(std::string_view name);    // either spelling; throws Error

template <class T>
struct dtype_of;
template <>
struct dtype_of<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct dtype_of<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct dtype_of<bf16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct dtype_of<int64_t> {
  static constexpr DType value = DType::i64;
};
template <>
struct dtype_of<int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct dtype_of<int8_t> {
  static constexpr DType value = DType::i8;
};
template <>
struct dtype_of<uint8_t> {
  static constexpr DType value = DType::u8;
};

float f16_to_f32(uint16_t bits);
float f8e4m3_to_f32(uint8_t bits);  // the "fn" form: no infinities, 0x7f is NaN

}  // namespace quern
