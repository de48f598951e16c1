#include "quern/capi/load_settings.h"

#include "quern/infer/cache/kv_type.h"

namespace quern::capi {

models::LoadOptions LoadSettings::load_options() const {
  models::LoadOptions o;
  const kernels::WeightFormat body = kernels::parse_format(format, "format");
  const bool quantized = body != kernels::WeightFormat::f32 && body != kernels::WeightFormat::bf16;
  if (quantized)
    o.scheme = kernels::QuantFormat(body);
  else
    o.dtype = body == kernels::WeightFormat::f32 ? DType::f32 : DType::bf16;
  if (head) {
    if (!quantized) fail("head '{}': format '{}' is not quantized; expected format q8, q4 or q8a8", *head, format);
    o.head = kernels::QuantFormat(kernels::parse_format(*head, "head"));
    if (o.head->format == kernels::WeightFormat::q8a8) fail("head 'q8a8': expected f32, bf16, q8 or q4");
  }
  if (adapter) o.adapter = *adapter;
  if (cache_mib < 0 || cache_mib > (int64_t{1} << 40)) fail("cache_mib {}: expected 0 or more", cache_mib);
  return o;
}

DType LoadSettings::kv_type() const {
  if (!kv) return format == "f32" ? DType::f32 : DType::bf16;
  try {
    return infer::parse_kv(*kv);
  } catch (const Error& e) {
    fail("kv {}", e.what());
  }
}

std::string LoadSettings::weights() const { return head ? fmt::format("{} with {} head", format, *head) : format; }

}  // namespace quern::capi
