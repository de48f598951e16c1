#include "quern/optim/muon/muon.h"

#include <algorithm>
#include <cmath>

#include "quern/base/arena.h"
#include "quern/base/config.h"
#include "quern/base/threads.h"
#include "quern/nn/registry.h"

namespace quern::optim {
namespace {

constexpr int64_t kGrain = 1 << 14;
constexpr const char* kMomentum = "muon_m";  // the part of the state

}  // namespace

LogicalMatrices logical_matrices(const grad::Parameter& p, const MuonOptions& o) {
  const size_t r = p.shape.size();
  LogicalMatrices l{1, p.shape[r - 2], p.shape[r - 1]};
  for (size_t i = 0; i + 2 < r; ++i) l.count *= p.shape[i];
  if (o.split_fused) l.count *= p.fused, l.rows /= p.fused;
  return l;
}

Muon::Muon(MuonOptions o) : o_(std::move(o)) {
  if (!(o_.momentum >= 0 && o_.momentum < 1))
    fail("optimizer muon, momentum: {}, expected 0 ≤ momentum < 1", o_.momentum);
  if (!(o_.weight_decay >= 0)) fail("optimizer muon, weight_decay: {}, expected 0 or more", o_.weight_decay);
  if (o_.steps < 0 || o_.steps > 100) fail("optimizer muon, steps: {}, expected 0 to 100", o_.steps);
  if (o_.dtype != "bf16" && o_.dtype != "f32") fail("optimizer muon, dtype: '{}', expected bf16 or f32", o_.dtype);
  if (o_.scale != "rms" && o_.scale != "jordan")
    fail("optimizer muon, scale: '{}', expected rms or jordan", o_.scale);
  if (o_.coefficients != "published" && o_.coefficients != "minimax")
    fail("optimizer muon, coefficients: '{}', expected published or minimax", o_.coefficients);
  using enum NewtonSchulzOptions::Coefficients;
  if (o_.steps == 0) o_.steps = o_.coefficients == "minimax" ? 6 : 5;
  newton_schulz_ = {.steps = static_cast<int>(o_.steps),
                    .dtype = parse_dtype(o_.dtype),
                    .coefficients = o_.coefficients == "minimax" ? minimax : published};
}

std::vector<OptimizerPart> Muon::state(const std::string& name, const grad::Parameter& p) const {
  if (p.shape.size() < 2)
    fail("optimizer muon: {} of shape {} is not a matrix; assign another optimizer with a rule", name,
         to_string(p.shape));
  if (o_.momentum == 0) return {};
  return {{kMomentum, DType::f32, p.shape}};
}

double Muon::scale(int64_t rows, int64_t columns) const {
  const double r = static_cast<double>(rows), c = static_cast<double>(columns);
  return o_.scale == "rms" ? 0.2 * std::sqrt(std::max(r, c)) : std::sqrt(std::max(1.0, r / c));
}

void Muon::step(std::span<OptimizerSlot* const> slots, const OptimizerStep& s) const {
  struct Item {
    OptimizerSlot* slot;
    int64_t at;
  };
  std::vector<Item> items;
  std::vector<LogicalMatrices> sizes;
  for (OptimizerSlot* slot : slots) {
    const LogicalMatrices l = matrices(*slot->parameter);
    for (int64_t i = 0; i < l.count; ++i) items.push_back({slot, i * l.rows * l.columns}), sizes.push_back(l);
  }
  each_matrix(*this, sizes,
              [&](size_t i) { matrix(*items[i].slot, items[i].at, sizes[i].rows, sizes[i].columns, s); });
}

double Muon::cost(int64_t rows, int64_t columns) const {
  return newton_schulz_flops(rows, columns, newton_schulz_.steps);
}

void Muon::direction(OptimizerSlot& slot, int64_t at, int64_t n, const OptimizerStep& s, float* u) const {
  const float* g = slot.parameter->grad.data<float>() + at;
  float* m = o_.momentum == 0 ? nullptr : slot.state.at(kMomentum).data<float>() + at;
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
}

void Muon::apply(OptimizerSlot& slot, const MatrixPiece& piece, const OptimizerStep& s) const {
  const int64_t at = piece.at;
  const float* o = piece.direction;
  float* w = slot.parameter->value.data<float>() + at;
  const double lr = s.lr * slot.lr_scale;
  const float keep = static_cast<float>(1 - lr * o_.weight_decay),
              by = static_cast<float>(lr * scale(piece.rows, piece.columns));
  parallel_for(piece.n, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) w[i] = keep * w[i] - by * o[i];
    refresh_working(slot, at + begin, at + end);
  });
}

void Muon::matrix(OptimizerSlot& slot, int64_t at, int64_t rows, int64_t columns, const OptimizerStep& s) const {
  const int64_t n = rows * columns;
  Arena& arena = thread_arena();
  Arena::Scope scope(arena);
  float* u = arena.take<float>(n).data();
  direction(slot, at, n, s, u);
  orthogonalize({u, {rows, columns}});
  apply(slot, {.at = at, .n = n, .direction = u, .rows = rows, .columns = columns}, s);
}

void register_muon(nn::Registry& r) {
  r.optimizers.add("muon", [](const Json& j) -> std::unique_ptr<Optimizer> {
    MuonOptions o;
    from_json(j, o, "optimizer muon", UnknownKeys::refuse);
    return std::make_unique<Muon>(std::move(o));
  });
}

}  // namespace quern::optim
