// Names of the KV cache types: f32, bf16, or q8 (int8 with one scale per token and head; DType::i8).
#pragma once
#include <string>

#include "quern/tensor/dtype.h"

namespace quern::infer {

DType parse_kv(const std::string& word);  // throws Error naming the choices
std::string kv_name(DType kv);

}  // namespace quern::infer
