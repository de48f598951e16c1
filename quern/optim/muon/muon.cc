#include "quern/optim/muon/muon.h"

#include <algorithm>
#include <cmath>

#include "quern/base/arena.h"
#include "quern/base/config.h"
#include "quern/base/threads.h"
#include "quern/nn/registry.h"

namespace quern {
namespace {

constexpr int64_t kGrain = 1 << 14;

// A product this small keeps less than a thread busy: such matrices are handed out whole, one to a thread.
constexpr int64_t kSmallMatrix = 512 * 512;

}  // namespace

LogicalMatrices logical_matrices(const Parameter& p, bool split_fused) {
  const size_t r = p.shape.size();
  LogicalMatrices l{1, p.shape[r - 2], p.shape[r - 1]};
  for (size_t i = 0; i + 2 < r; ++i) l.count *= p.shape[i];
  if (split_fused) l.count *= p.fused, l.rows /= p.fused;
  return l;
}

Muon::Muon(MuonOptions o) : o_(std::move(o)) {
  if (!(o_.momentum >= 0 && o_.momentum < 1))
    fail("optimizer muon, momentum: {}, expected 0 ≤ momentum < 1", o_.momentum);
  if (!(o_.weight_decay >= 0)) fail("optimizer muon, weight_decay: {}, expected 0 or more", o_.weight_decay);
  if (o_.steps < 1 || o_.steps > 100) fail("optimizer muon, steps: {}, expected 1 to 100", o_.steps);
  if (o_.dtype != "bf16" && o_.dtype != "f32") fail("optimizer muon, dtype: '{}', expected bf16 or f32", o_.dtype);
  if (o_.scale != "rms" && o_.scale != "jordan")
    fail("optimizer muon, scale: '{}', expected rms or jordan", o_.scale);
  if (o_.coefficients != "published" && o_.coefficients != "minimax")
    fail("optimizer muon, coefficients: '{}', expected published or minimax", o_.coefficients);
  newton_schulz_ = {.steps = static_cast<int>(o_.steps), .dtype = parse_dtype(o_.dtype)};
  if (o_.coefficients == "minimax") newton_schulz_.coefficients = NewtonSchulzOptions::Coefficients::minimax;
}

std::vector<OptimizerPart> Muon::state(const std::string& name, const Parameter& p) const {
  if (p.shape.size() < 2)
    fail("optimizer muon: {} of shape {} is no matrix; give it another optimizer by a rule", name,
         to_string(p.shape));
  if (o_.momentum == 0) return {};
  return {{"muon_m", DType::f32, p.shape}};
}

double Muon::scale(int64_t rows, int64_t columns) const {
  const double r = static_cast<double>(rows), c = static_cast<double>(columns);
  return o_.scale == "rms" ? 0.2 * std::sqrt(std::max(r, c)) : std::sqrt(std::max(1.0, r / c));
}

void Muon::step(std::span<OptimizerSlot* const> slots, const OptimizerStep& s) const {
  struct Item {
    OptimizerSlot* slot;
    int64_t at, rows, columns;
  };
  std::vector<Item> large, small;
  for (OptimizerSlot* slot : slots) {
    const LogicalMatrices l = logical_matrices(*slot->parameter, o_.split_fused);
    const bool alone = l.rows * l.columns > kSmallMatrix;
    for (int64_t i = 0; i < l.count; ++i)
      (alone ? large : small).push_back({slot, i * l.rows * l.columns, l.rows, l.columns});
  }
  for (const Item& i : large) matrix(*i.slot, i.at, i.rows, i.columns, s);
  std::stable_sort(small.begin(), small.end(), [](const Item& a, const Item& b) {
    return newton_schulz_flops(a.rows, a.columns, 1) > newton_schulz_flops(b.rows, b.columns, 1);
  });
  parallel_dynamic(static_cast<int64_t>(small.size()), [&](int64_t at) {
    const Item& i = small[static_cast<size_t>(at)];
    matrix(*i.slot, i.at, i.rows, i.columns, s);
  });
}

void Muon::matrix(OptimizerSlot& slot, int64_t at, int64_t rows, int64_t columns, const OptimizerStep& s) const {
  const int64_t n = rows * columns;
  Parameter& p = *slot.parameter;
  const float* g = p.grad.data<float>() + at;
  float* w = p.value.data<float>() + at;
  float* m = o_.momentum == 0 ? nullptr : slot.state[0].data<float>() + at;
  Arena& arena = thread_arena();
  Arena::Scope scope(arena);
  float* u = arena.take<float>(n).data();
  const float mu = static_cast<float>(o_.momentum), in = static_cast<float>(s.grad_scale);
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    if (m == nullptr) {
      for (int64_t i = begin; i < end; ++i) u[i] = in * g[i];
      return;
    }
    const float ahead = o_.nesterov ? mu : 1, now = o_.nesterov ? in : 0;  // u = ahead·m + now·g
    for (int64_t i = begin; i < end; ++i) {
      m[i] = mu * m[i] + in * g[i];
      u[i] = ahead * m[i] + now * g[i];
    }
  });
  newton_schulz({u, {rows, columns}}, newton_schulz_);
  const double lr = s.lr * slot.lr_scale;
  const float keep = static_cast<float>(1 - lr * o_.weight_decay), by = static_cast<float>(lr * scale(rows, columns));
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) w[i] = keep * w[i] - by * u[i];
    refresh_working(slot, at + begin, at + end);
  });
}

namespace optim {
void register_muon(Registry& r) {
  r.optimizers.add("muon", [](const Json& j) -> std::unique_ptr<Optimizer> {
    MuonOptions o;
    from_json(j, o, "optimizer muon", true);
    return std::make_unique<Muon>(std::move(o));
  });
}
}  // namespace optim

}  // namespace quern
