// QuantFormat: the quantization format of a matrix for inference: how weights are stored and what the activations that
// they multiply are rounded to; sums are f32 in every format.
//   plain  unchanged, not prepacked         f32, bf16  prepacked, not quantized
//   q8     int8, one scale per output channel; activations are bf16
//   q4     4 bits in groups of 32 or 64 along K, symmetric or with a zero point; activations are bf16
//   q8a8   the weights of q8, activations rounded to int8 with one scale per row, integer sums
#pragma once
#include <string>
#include <string_view>

#include "quern/tensor/dtype.h"

namespace quern::kernels {

enum class WeightFormat : uint8_t { plain, f32, bf16, q8, q4, q8a8 };

struct QuantFormat {
  WeightFormat format = WeightFormat::f32;
  int64_t group = 32;       // q4
  bool asymmetric = false;  // q4

  QuantFormat() = default;
  QuantFormat(WeightFormat f, int64_t g = 32, bool a = false) : format(f), group(g), asymmetric(a) {}
  QuantFormat(DType t);  // f32, bf16; f64 is plain

  bool quantized() const { return format >= WeightFormat::q8; }
  // What rows of activations are rounded to before they meet these weights (q8a8: again to int8, inside the product).
  DType rows() const;
  bool operator==(const QuantFormat& o) const {
    return format == o.format && (format != WeightFormat::q4 || (group == o.group && asymmetric == o.asymmetric));
  }
};

std::string_view format_name(WeightFormat f);
WeightFormat parse_format(std::string_view name, std::string_view what);  // throws Error naming `what`
std::string to_string(const QuantFormat& s);                              // "q4, groups of 32, asymmetric"
void check(const QuantFormat& s, std::string_view what);                  // throws Error: group must be 32 or 64

}  // namespace quern::kernels
