// Names and bounds of quantization formats.
#include "quern/kernels/quant/quant_format.h"

#include "quern/base/error.h"
#include "quern/base/nearest.h"

namespace quern::kernels {
namespace {

constexpr std::string_view kNames[] = {"plain", "f32", "bf16", "q8", "q4", "q8a8"};

}  // namespace

QuantFormat::QuantFormat(DType t)
    : format(t == DType::f64    ? WeightFormat::plain
             : t == DType::bf16 ? WeightFormat::bf16
                                : WeightFormat::f32) {
  QUERN_CHECK(t == DType::f64 || t == DType::bf16 || t == DType::f32, "weights cannot be stored as {}",
              dtype_name(t));
}

DType QuantFormat::rows() const {
  if (format == WeightFormat::plain) return DType::f64;
  return format == WeightFormat::f32 ? DType::f32 : DType::bf16;
}

std::string_view format_name(WeightFormat f) { return kNames[static_cast<size_t>(f)]; }

WeightFormat parse_format(std::string_view name, std::string_view what) {
  for (size_t i = 1; i < std::size(kNames); ++i)
    if (name == kNames[i]) return static_cast<WeightFormat>(i);
  fail("{}: '{}', expected f32, bf16, q8, q4 or q8a8", what, name);
}

std::string to_string(const QuantFormat& s) {
  if (s.format != WeightFormat::q4) return std::string(format_name(s.format));
  return fmt::format("q4, groups of {}{}", s.group, s.asymmetric ? ", asymmetric" : "");
}

void check(const QuantFormat& s, std::string_view what) {
  if (s.format == WeightFormat::q4 && s.group != 32 && s.group != 64)
    fail("{}, group: {}, expected 32 or 64", what, s.group);
}

}  // namespace quern::kernels
