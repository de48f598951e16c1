// What a student learns from a teacher's logits. With p and q their distributions at a temperature T, over the words, or
// over the teacher's likeliest `top` words and all others as one:
//   forward  T²·Σ_v p_v·(log p_v − log q_v)
//   reverse  T²·Σ_v q_v·(log q_v − log p_v)
// The loss of a token is weight·divergence + (1 − weight)·(−log softmax(student logits)[target]), at temperature 1.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "quern/tensor/view.h"
#include "quern/train/recipe/distill_config.h"

namespace quern::train {

// The teacher's likeliest words and their log-probabilities at the temperature; the last one is of all other words.
struct TopWords {
  std::vector<uint32_t> words;  // likeliest first
  std::vector<double> log_p;    // one more than words
};
// top < logits − 1
void top_words(std::span<const float> logits, int64_t top, double temperature, TopWords& out);

// One token: returns its loss, and turns the student's logits into the gradient by them.
double distill_token(const DistillConfig& c, std::span<const float> teacher, std::span<float> student,
                     int32_t target);

// The same by the teacher's likeliest words alone.
double distill_token(const DistillConfig& c, const TopWords& teacher, std::span<float> student, int32_t target);

// Rows of the student: `token` returns the loss of row r and turns its logits into the gradient. The losses of rows with
// targets ≥ 0 are summed and multiplied by `share`, as their gradients are; rows without a target become zero.
using DistillRow = std::function<double(int64_t r, std::span<float> student, int32_t target)>;
double distill_rows(View<float, 2> student, std::span<const int32_t> targets, double share, const DistillRow& token);

// Rows of both.
double distill_rows(const DistillConfig& c, View<const float, 2> teacher, View<float, 2> student,
                    std::span<const int32_t> targets, double share);

}  // namespace quern::train
