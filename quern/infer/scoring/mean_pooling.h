// Text embedding by mean pooling: the mean of the last hidden states of all tokens, normalized to length 1.
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "quern/models/model.h"

namespace quern::infer {

class MeanPooling {
 public:
  explicit MeanPooling(const models::Model& model, nn::ChosenAdapters adapters = {})
      : adapters_(std::move(adapters)), state_(model.sites(DType::f32)) {}
  void feed(models::Model& model, std::span<const int32_t> tokens);  // the next tokens of the text
  std::vector<float> embedding() const;                              // of the tokens so far

 private:
  nn::ChosenAdapters adapters_;
  mixers::SequenceState state_;
  std::vector<double> sum_;
};

}  // namespace quern::infer
