#include "quern/ffn/moe/balance.h"

#include <cmath>
#include <numeric>

namespace quern {

BiasBalancer::BiasBalancer(Tensor biases, BalanceOptions o)
    : biases_(std::move(biases)), o_(o), m_(static_cast<size_t>(biases_.size())), v_(m_.size()) {}

void BiasBalancer::update(std::span<const int64_t> counts) {
  QUERN_CHECK(counts.size() == m_.size());
  double total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), int64_t{0}));
  if (total == 0) return;
  ++t_;
  for (size_t j = 0; j < m_.size(); ++j) {
    double g = static_cast<double>(counts[j]) / total - 1.0 / static_cast<double>(m_.size());
    m_[j] = o_.beta1 * m_[j] + (1 - o_.beta1) * g;
    v_[j] = o_.beta2 * v_[j] + (1 - o_.beta2) * g * g;
    double step = m_[j] / (1 - std::pow(o_.beta1, t_)) / (std::sqrt(v_[j] / (1 - std::pow(o_.beta2, t_))) + o_.eps);
    biases_.data<float>()[j] -= static_cast<float>(o_.lr * step);
  }
}

}  // namespace quern
