// How much of a parameter one token meets: of matrices of experts, experts per token over experts; of any other, all.
#pragma once
#include "quern/models/model.h"

namespace quern::models {

class ActiveShare {
 public:
  explicit ActiveShare(const Model& model);
  double of(const grad::Parameter& p) const {
    const bool experts = p.matrix && p.shape.size() > 2;
    return experts ? per_token_ / static_cast<double>(p.shape[0]) : 1;
  }

 private:
  double per_token_ = 1;  // experts
};

}  // namespace quern::models
