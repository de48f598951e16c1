#include "quern/encoders/disentangled.h"

#include <algorithm>
#include <cmath>

#include "quern/base/threads.h"

namespace quern::encoders {

int64_t RelativePositions::row(int64_t distance) const {
  int64_t at = distance;
  if (buckets > 0 && longest > 0) {
    const int64_t mid = buckets / 2, far = std::abs(distance);
    if (far > mid) {  // in f32, as the reference rounds
      const float ratio = std::log(static_cast<float>(far) / static_cast<float>(mid)) /
                          std::log(static_cast<float>(static_cast<double>(longest - 1) / static_cast<double>(mid)));
      at = static_cast<int64_t>(std::ceil(ratio * static_cast<float>(mid - 1))) + mid;
      if (distance < 0) at = -at;
    }
  }
  return std::clamp<int64_t>(at + span(), 0, 2 * span() - 1);
}

DisentangledBias::DisentangledBias(const Inputs& in, const RelativePositions& relative, int64_t longest)
    : tokens_(in.qkv.dim(0)), reach_(longest - 1), scale_(static_cast<float>(in.scale)) {
  first_row_ = relative.row(-reach_);
  rows_ = relative.row(reach_) - first_row_ + 1;
  for (int64_t d = -reach_; d <= reach_; ++d) column_.push_back(static_cast<int32_t>(relative.row(d) - first_row_));
  if (in.position_keys.defined()) multiply(in, 0, in.position_keys, by_query_);
  if (in.position_queries.defined()) multiply(in, 1, in.position_queries, by_key_);
}

void DisentangledBias::multiply(const Inputs& in, int64_t part, const Tensor& positions, Tensor& out) const {
  const int64_t width = in.qkv.dim(1) / 3, d = width / in.heads;
  out = Tensor::empty({in.heads, tokens_, rows_}, DType::f32);
  for (int64_t h = 0; h < in.heads; ++h) {
    const View<const float, 2> x(in.qkv.data<float>() + part * width + h * d, {tokens_, d}, {3 * width, 1});
    const View<const float, 2> p(positions.data<float>() + first_row_ * width + h * d, {rows_, d}, {width, 1});
    kernels::gemm<float>(x, p, {out.data<float>() + h * tokens_ * rows_, {tokens_, rows_}, {rows_, 1}},
                         {.trans_b = true, .bf16 = in.bf16, .one_order = true});
  }
}

void DisentangledBias::add(const Span& at, float* s) const {
  const float f = at.factor * scale_;
  const int32_t* column = column_.data() + at.query - at.key + reach_;  // falls as the key moves on
  const int64_t head = at.head * tokens_ + at.segment;
  if (by_query_.defined()) {
    const float* row = by_query_.data<float>() + (head + at.query) * rows_;
    for (int64_t j = 0; j < at.keys; ++j) s[j] += f * row[column[-j]];
  }
  if (by_key_.defined()) {
    const float* row = by_key_.data<float>() + (head + at.key) * rows_;
    for (int64_t j = 0; j < at.keys; ++j, row += rows_) s[j] += f * row[column[-j]];
  }
}

}  // namespace quern::encoders
