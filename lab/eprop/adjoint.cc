// The learning rules in adjoint form (backward). δ_t is ∂loss/∂h_t; `above` is the part from the layer above at step
// t, the rest comes from t + 1:  δ_t = above_t + R_{t+1}ᵀ δ_{t+1}, with R, its diagonal or nothing.
#include <algorithm>
#include <cmath>

#include "lab/eprop/credit.h"
#include "lab/eprop/spiking.h"
#include "quern/base/error.h"

namespace quern::lab {
namespace {

constexpr std::array<std::string_view, kCreditRules.size()> kNames = {"bptt",           "full",     "ablate-temporal",
                                                                      "ablate-spatial", "no-carry", "readout"};

size_t count(int64_t n) { return static_cast<size_t>(n); }

}  // namespace

std::string_view name_of(CreditRule rule) { return kNames[static_cast<size_t>(rule)]; }

CreditRule credit_rule(std::string_view name) {
  const auto at = std::find(kNames.begin(), kNames.end(), name);
  if (at == kNames.end()) fail("rule '{}': expected one of {}", name, fmt::join(kNames, ", "));
  return kCreditRules[static_cast<size_t>(at - kNames.begin())];
}

StackWeights adjoint_gradient(const StackShape& s, const StackWeights& w, const Episodes& e, const StackRun& r,
                              CreditRule rule) {
  if (s.spiking.on) return spiking_adjoint(s, w, e, r, rule);
  const int64_t B = e.batch, n = s.units, L = s.layers();
  StackWeights g = zero_weights(s);
  // above: what comes down now; owed: δ; down: what the layer below gets, by rule from δ or from `above` alone
  std::vector<double> above(count(n * B)), owed(above), pushed(above), down(above);
  std::vector<std::vector<double>> carried(count(L), above);
  for (int64_t t = rule == CreditRule::readout ? -1 : e.steps - 1; t >= 0; --t) {
    std::copy_n(at_step(r.signal, n, B, t).data(), n * B, above.data());
    for (int64_t l = L - 1; l >= 0; --l) {
      const LayerWeights& k = w.layers[count(l)];
      LayerWeights& d = g.layers[count(l)];
      std::vector<double>& carry = carried[count(l)];
      const double leak = s.leak[count(l)];
      const ConstNumbers psi = at_step(r.psi[count(l)], n, B, t);
      for (size_t i = 0; i < owed.size(); ++i) {
        owed[i] = above[i] + carry[i];
        pushed[i] = leak * psi[i] * owed[i];
      }
      const int64_t in = s.inputs_of(l);
      if (t > 0) add_outer({n, n, B}, pushed, at_step(r.h[count(l)], n, B, t - 1), d.w);
      add_outer({n, in, B}, pushed, at_step(l == 0 ? e.x : r.h[count(l - 1)], in, B, t), d.f);
      for (int64_t i = 0; i < n; ++i)
        for (int64_t b = 0; b < B; ++b) d.b[count(i)] += pushed[count(i * B + b)];

      if (rule == CreditRule::bptt) {
        for (size_t i = 0; i < owed.size(); ++i) carry[i] = (1 - leak) * owed[i];
        add_product_transposed({n, n, B}, k.w, pushed, carry);
      } else if (rule != CreditRule::no_carry) {
        for (int64_t i = 0; i < n * B; ++i)
          carry[count(i)] = ((1 - leak) + leak * psi[count(i)] * k.w[count((i / B) * (n + 1))]) * owed[count(i)];
      }
      if (l == 0) break;
      const bool spatial_only = rule == CreditRule::ablate_temporal || rule == CreditRule::no_carry;
      for (size_t i = 0; spatial_only && i < owed.size(); ++i) pushed[i] = leak * psi[i] * above[i];
      std::fill(down.begin(), down.end(), 0.0);
      if (rule != CreditRule::ablate_spatial) add_product_transposed({n, n, B}, k.f, pushed, down);
      above.swap(down);
    }
  }
  finish_gradient(s, r, g);
  return g;
}

void finish_gradient(const StackShape& s, const StackRun& r, StackWeights& g) {
  for (LayerWeights& d : g.layers) {
    if (!s.biases) std::fill(d.b.begin(), d.b.end(), 0.0);
    for (int64_t i = 0; s.diagonal && i < s.units * s.units; ++i)
      if (i % (s.units + 1) != 0) d.w[count(i)] = 0;
  }
  g.v = r.dv, g.c = r.dc;
}

double cosine(const LayerWeights& a, const LayerWeights& b) {
  double ab = 0, aa = 0, bb = 0;
  const auto add = [&](const std::vector<double>& x, const std::vector<double>& y) {
    QUERN_CHECK(x.size() == y.size());
    for (size_t i = 0; i < x.size(); ++i) ab += x[i] * y[i], aa += x[i] * x[i], bb += y[i] * y[i];
  };
  add(a.w, b.w), add(a.f, b.f), add(a.b, b.b);
  return aa == 0 || bb == 0 ? 0 : ab / std::sqrt(aa * bb);
}

}  // namespace quern::lab
