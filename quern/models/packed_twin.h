// The twin of a model that is being trained: the same weights in their form for inference, refreshed in place. Sampling
// from it is as fast as from a loaded model, and a refresh reads every weight once: nothing is written to disk.
#pragma once
#include <memory>

#include "quern/kernels/quant/prepacked_weight.h"
#include "quern/models/model.h"
#include "quern/nn/registry.h"

namespace quern::models {

class PackedTwin {
 public:
  // The source must have its plain weights, and outlive the twin.
  PackedTwin(const nn::Registry& registry, Model& source, kernels::QuantFormat format);
  // Takes over the source's weights as they are now. Not while a forward pass of the twin runs; states and caches that
  // were computed before hold what the old weights made of their tokens.
  void refresh();
  Model& model() { return *twin_; }
  int64_t version() const { return version_; }  // refreshes so far; the first weights are version 0

 private:
  Model& source_;
  kernels::QuantFormat format_;
  std::unique_ptr<Model> twin_;
  int64_t version_ = -1;
};

}  // namespace quern::models
