// Logits of selected rows of a forward pass, in f32.
#pragma once
#include <cstdint>
#include <span>

#include "quern/models/model.h"

namespace quern::infer {

// wanted: rows of hidden, in order.
Tensor select_logits(models::Model& model, grad::Tape& tape, const Tensor& hidden, std::span<const int64_t> wanted);

}  // namespace quern::infer
