#include "quern/optim/clip.h"

#include <cmath>

#include "quern/base/threads.h"

namespace quern::optim {
namespace {

constexpr int64_t kBlock = 1 << 16;  // 256 KiB: several microseconds of memory, enough for a thread to come
constexpr int kChains = 16;          // fixed: the order of summation does not follow the vector width

double block_sum(const float* x, int64_t n) {
  double s[kChains] = {};
  int64_t i = 0;
  for (; i + kChains <= n; i += kChains)
    for (int c = 0; c < kChains; ++c) s[c] += static_cast<double>(x[i + c]) * x[i + c];
  for (; i < n; ++i) s[i % kChains] += static_cast<double>(x[i]) * x[i];
  double sum = 0;
  for (double part : s) sum += part;
  return sum;
}

}  // namespace

double sum_of_squares(std::span<const float> x) {
  const int64_t n = static_cast<int64_t>(x.size()), blocks = (n + kBlock - 1) / kBlock;
  std::vector<double> part(static_cast<size_t>(blocks));
  parallel_shares(blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b)
      part[static_cast<size_t>(b)] = block_sum(x.data() + b * kBlock, std::min(kBlock, n - b * kBlock));
  });
  double sum = 0;
  for (double p : part) sum += p;
  return sum;
}

double grad_norm(nn::Module& model) {
  double sum = 0;
  model.visit("", [&](const std::string&, grad::Parameter& p) {
    if (p.trainable && p.grad.defined()) sum += sum_of_squares(p.grad.span<float>());
  });
  return std::sqrt(sum);
}

double clip_scale(double norm, double limit) { return norm > limit ? limit / norm : 1; }

double clip_grad_norm(nn::Module& model, double limit) {
  const double norm = grad_norm(model);
  if (norm <= limit) return norm;
  const float k = static_cast<float>(clip_scale(norm, limit));
  model.visit("", [&](const std::string&, grad::Parameter& p) {
    if (!p.trainable || !p.grad.defined()) return;
    float* g = p.grad.data<float>();
    parallel_shares(p.grad.size(), kBlock, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) g[i] *= k;
    });
  });
  return norm;
}

}  // namespace quern::optim
