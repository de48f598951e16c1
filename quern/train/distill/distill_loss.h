// What a student learns from a teacher's logits. With p and q their distributions at a temperature T, over the words, or
// over the teacher's likeliest `top` words and all others as one:
//   forward  T²·Σ_v p_v·(log p_v − log q_v)
//   reverse  T²·Σ_v q_v·(log q_v − log p_v)
// The loss of a token is weight·divergence + (1 − weight)·(−log softmax(student logits)[target]), at temperature 1.
#pragma once
#include <cstdint>
#include <span>

#include "quern/tensor/view.h"
#include "quern/train/recipe/distill_config.h"

namespace quern::train {

// One token: returns its loss, and turns the student's logits into the gradient by them.
double distill_token(const DistillConfig& c, std::span<const float> teacher, std::span<float> student,
                     int32_t target);

// Rows of both; the loss is summed over targets ≥ 0 and multiplied by `share`; rows without a target become zero.
double distill_rows(const DistillConfig& c, View<const float, 2> teacher, View<float, 2> student,
                    std::span<const int32_t> targets, double share);

}  // namespace quern::train
