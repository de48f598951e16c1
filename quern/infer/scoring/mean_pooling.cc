#include "quern/infer/scoring/mean_pooling.h"

#include <cmath>

namespace quern::infer {

void MeanPooling::feed(models::Model& model, std::span<const int32_t> tokens) {
  grad::Tape tape(grad::Tape::inference);
  nn::BatchAdapters chosen;
  chosen.add(static_cast<int64_t>(tokens.size()), adapters_);
  if (!adapters_.empty()) tape.adapters = &chosen;
  const mixers::Batch batch = mixers::Batch::resume({&state_}, {static_cast<int64_t>(tokens.size())});
  const Tensor h = model.hidden(tape, tokens, batch).value.to(DType::f32);
  sum_.resize(static_cast<size_t>(h.dim(1)));
  for (int64_t t = 0; t < h.dim(0); ++t) {
    const float* x = h.view<const float, 2>().row(t);
    for (size_t d = 0; d < sum_.size(); ++d) sum_[d] += x[d];
  }
}

std::vector<float> MeanPooling::embedding() const {
  double square = 0;
  for (double v : sum_) square += v * v;
  const double scale = square > 0 ? 1 / std::sqrt(square) : 0;
  std::vector<float> out;
  for (double v : sum_) out.push_back(static_cast<float>(v * scale));
  return out;
}

}  // namespace quern::infer
