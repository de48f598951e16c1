#include "quern/infer/cache/weight_settings.h"

#include "quern/base/error.h"
#include "quern/infer/cache/kv_type.h"

namespace quern::infer {
namespace {

DType rows(kernels::WeightFormat body) { return body == kernels::WeightFormat::f32 ? DType::f32 : DType::bf16; }

}  // namespace

models::LoadOptions WeightSettings::load_options(const Names& names) const {
  const kernels::QuantFormat body(kernels::parse_format(format, names.format));
  models::LoadOptions o{.dtype = rows(body.format)};
  if (body.quantized()) o.scheme = body;
  if (head) o.head = kernels::QuantFormat(kernels::parse_format(*head, names.head));
  if (o.head && o.head->format == kernels::WeightFormat::q8a8)
    fail("{} 'q8a8': expected f32, bf16, q8 or q4", names.head);
  return o;
}

DType WeightSettings::kv_type(const Names& names) const {
  if (!kv) return rows(kernels::parse_format(format, names.format));
  try {
    return parse_kv(*kv);
  } catch (const Error& e) {
    fail("{} {}", names.kv, e.what());
  }
}

std::string WeightSettings::name() const { return head ? fmt::format("{} with {} head", format, *head) : format; }

}  // namespace quern::infer
