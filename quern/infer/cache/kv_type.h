// The words for what an attention cache holds: f32, bf16, or q8 (8 bits, with a scale a row and head; DType::i8).
#pragma once
#include <string>

#include "quern/tensor/dtype.h"

namespace quern {

DType parse_kv(const std::string& word);  // throws Error naming the choices
std::string kv_name(DType kv);

}  // namespace quern
