// The three names and their element types.
#include "quern/infer/cache/kv_type.h"

#include "quern/base/error.h"

namespace quern::infer {

DType parse_kv(const std::string& word) {
  if (word == "bf16") return DType::bf16;
  if (word == "q8") return DType::i8;
  if (word == "f32") return DType::f32;
  fail("'{}', expected bf16, q8 or f32", word);
}

std::string kv_name(DType kv) { return kv == DType::i8 ? "q8" : std::string(dtype_name(kv)); }

}  // namespace quern::infer
