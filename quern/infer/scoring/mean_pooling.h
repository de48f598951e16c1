// Text embedding by mean pooling: the mean of the last hidden states of all tokens, normalized to length 1.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "quern/models/model.h"

namespace quern::infer {

class MeanPooling {
 public:
  explicit MeanPooling(const models::Model& model) : state_(model.sites(DType::f32)) {}
  void feed(models::Model& model, std::span<const int32_t> tokens);  // the next tokens of the text
  std::vector<float> embedding() const;                              // of the tokens so far

 private:
  mixers::SequenceState state_;
  std::vector<double> sum_;
};

}  // namespace quern::infer
