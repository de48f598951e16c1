// Constrained decoding of one sequence: tokens that the constraint forbids are never sampled, and a stop token only
// where the output may end. The reported log-probability is that of the unmasked distribution.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "quern/infer/engine/request.h"

namespace quern::infer {

class ConstrainedSampler {
 public:
  explicit ConstrainedSampler(const ConstraintSource& source) : constraint_(source.start()) {}
  // Throws Error when no token is allowed.
  TokenLogprob next(Sampler& sampler, std::span<const float> logits, uint64_t step,
                    std::span<const int64_t> stop_ids);
  void accept_token(int32_t token) { constraint_->accept(token); }
  bool finished() const { return constraint_->finished(); }

 private:
  std::unique_ptr<TokenConstraint> constraint_;
  std::vector<float> masked_;
};

}  // namespace quern::infer
