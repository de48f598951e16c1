#include "quern/optim/optimizer.h"

#include <algorithm>
#include <utility>

#include "quern/base/error.h"
#include "quern/base/threads.h"

namespace quern::optim {

OptimizerState::OptimizerState(std::span<const OptimizerPart> parts) {
  for (const OptimizerPart& p : parts) add(p.role, Tensor::zeros(p.shape, p.dtype));
}

const Tensor& OptimizerState::at(std::string_view role) const {
  const auto part = std::find_if(parts_.begin(), parts_.end(), [&](const auto& p) { return p.first == role; });
  QUERN_CHECK(part != parts_.end(), "the optimizer keeps no '{}'", role);
  return part->second;
}

Tensor& OptimizerState::at(std::string_view role) { return const_cast<Tensor&>(std::as_const(*this).at(role)); }

int64_t OptimizerState::bytes() const {
  int64_t n = 0;
  for (const auto& [role, t] : parts_) n += t.bytes();
  return n;
}

void each_piece(std::span<OptimizerSlot* const> slots,
                const std::function<void(OptimizerSlot&, int64_t begin, int64_t end)>& f) {
  constexpr int64_t kPiece = 1 << 16;
  auto pieces = [](const OptimizerSlot* s) { return (s->parameter->value.size() + kPiece - 1) / kPiece; };
  int64_t total = 0;
  for (const OptimizerSlot* s : slots) total += pieces(s);
  parallel_shares(total, 1, [&](int64_t first, int64_t last) {
    int64_t at = 0;
    for (OptimizerSlot* s : slots) {
      const int64_t n = pieces(s);
      for (int64_t p = std::max<int64_t>(0, first - at); p < std::min(n, last - at); ++p)
        f(*s, p * kPiece, std::min((p + 1) * kPiece, s->parameter->value.size()));
      at += n;
    }
  });
}

void each_matrix(const MatrixOptimizer& rule, std::span<const LogicalMatrices> items,
                 const std::function<void(size_t)>& f) {
  constexpr int64_t kSmall = 512 * 512;  // a product this small keeps less than a thread busy
  std::vector<size_t> small;
  for (size_t i = 0; i < items.size(); ++i)
    if (items[i].rows * items[i].columns > kSmall)
      f(i);
    else
      small.push_back(i);
  auto cost = [&](size_t i) { return rule.cost(items[i].rows, items[i].columns); };
  std::stable_sort(small.begin(), small.end(), [&](size_t a, size_t b) { return cost(a) > cost(b); });
  parallel_dynamic(static_cast<int64_t>(small.size()), [&](int64_t i) { f(small[static_cast<size_t>(i)]); });
}

void refresh_working(const OptimizerSlot& slot, int64_t begin, int64_t end) {
  if (!slot.working.defined()) return;
  const float* w = slot.parameter->value.data<float>();
  bf16* out = slot.working.data<bf16>();
  for (int64_t i = begin; i < end; ++i) out[i] = bf16(w[i]);
}

}  // namespace quern::optim
