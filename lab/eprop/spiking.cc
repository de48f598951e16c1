// Forward pass, and the rules in adjoint form. δv, δa: ∂loss/∂v_t and ∂loss/∂a_t; ∂loss/∂z_t comes from above and from
// the next step's v (through W, or its diagonal) and a:
//   δv_t = ψ_t δz_t + (1 − α) δv_{t+1},   δa_t = −β ψ_t δz_t + ρ δa_{t+1}
#include "lab/eprop/spiking.h"

#include <algorithm>
#include <cmath>

#include "quern/base/error.h"

namespace quern::lab {
namespace {

size_t count(int64_t n) { return static_cast<size_t>(n); }

}  // namespace

void check(const SpikingUnits& u) {
  if (!(u.threshold > 0)) fail("threshold {}: expected above 0", u.threshold);
  if (!(u.damping > 0)) fail("damping {}: expected above 0", u.damping);
  if (!(u.adaptive >= 0 && u.adaptive <= 1)) fail("adaptive {}: expected a share from 0 to 1", u.adaptive);
  if (!(u.adapt_steps > 0)) fail("adapt steps {}: expected above 0", u.adapt_steps);
  if (!(u.adapt_strength >= 0)) fail("adapt strength {}: expected 0 or more", u.adapt_strength);
  if (!(u.readout_keep >= 0 && u.readout_keep < 1)) fail("readout keeps {}: expected 0 to below 1", u.readout_keep);
}

double adaptation_kept(const StackShape& s) { return std::exp(-1 / s.spiking.adapt_steps); }

double adaptation(const StackShape& s, int64_t layer, int64_t unit) {
  const auto plain = s.units - std::llround(s.spiking.adaptive * static_cast<double>(s.units));
  return unit < plain ? 0 : s.spiking.adapt_strength * (1 - adaptation_kept(s)) / s.leak[count(layer)];
}

StackRun run_spiking(const StackShape& s, const StackWeights& w, const Episodes& e) {
  const int64_t B = e.batch, n = s.units;
  const double theta = s.spiking.threshold, rho = adaptation_kept(s), keep = s.spiking.readout_keep;
  StackRun r = empty_run(s, w, e);
  std::vector<std::vector<double>> v(count(s.layers()), std::vector<double>(count(n * B))), a = v;
  std::vector<double> seen(count(n * B));
  for (int64_t t = 0; t < e.steps; ++t) {
    for (int64_t l = 0; l < s.layers(); ++l) {
      const LayerWeights& k = w.layers[count(l)];
      std::vector<double>&vl = v[count(l)], &al = a[count(l)];
      double *z = r.h[count(l)].data() + t * n * B, *psi = r.psi[count(l)].data() + t * n * B;
      for (int64_t i = 0; i < n * B; ++i) {
        const double fired = t > 0 ? z[i - n * B] : 0;
        vl[count(i)] = (1 - s.leak[count(l)]) * vl[count(i)] + k.b[count(i / B)] - theta * fired;
        al[count(i)] = rho * al[count(i)] + fired;
      }
      const int64_t in = s.inputs_of(l);
      add_product({n, in, B}, k.f, at_step(l == 0 ? e.x : r.h[count(l - 1)], in, B, t), vl);
      if (t > 0) add_product({n, n, B}, k.w, at_step(r.h[count(l)], n, B, t - 1), vl);
      for (int64_t i = 0; i < n * B; ++i) {
        const double over = vl[count(i)] - theta - adaptation(s, l, i / B) * al[count(i)];
        z[i] = over > 0 ? 1 : 0;
        psi[i] = s.spiking.damping / theta * std::max(0.0, 1 - std::abs(over) / theta);
      }
    }
    const ConstNumbers top = at_step(r.h.back(), n, B, t);
    for (size_t i = 0; i < seen.size(); ++i) seen[i] = keep * seen[i] + (1 - keep) * top[i];
    read_out(s, w, e, t, seen, r);
  }
  return r;
}

StackWeights spiking_adjoint(const StackShape& s, const StackWeights& w, const Episodes& e, const StackRun& r,
                             CreditRule rule) {
  const int64_t B = e.batch, n = s.units, L = s.layers();
  const double rho = adaptation_kept(s), keep = s.spiking.readout_keep;
  const bool spatial_only = rule == CreditRule::ablate_temporal || rule == CreditRule::no_carry;
  StackWeights g = zero_weights(s);
  // trace: owed to what the readout sees; above: to z from above alone; potential: δv; down: what the layer below
  // gets
  std::vector<double> trace(count(n * B)), above(trace), potential(trace), down(trace);
  struct Carried {
    std::vector<double> z, v, a;  // what step t + 1 owes to z_t, v_t and a_t
  };
  std::vector<Carried> carried(count(L), {trace, trace, trace});
  for (int64_t t = rule == CreditRule::readout ? -1 : e.steps - 1; t >= 0; --t) {
    const ConstNumbers signal = at_step(r.signal, n, B, t);
    for (size_t i = 0; i < trace.size(); ++i) {
      trace[i] = signal[i] + keep * trace[i];
      above[i] = (1 - keep) * trace[i];
    }
    for (int64_t l = L - 1; l >= 0; --l) {
      const LayerWeights& k = w.layers[count(l)];
      LayerWeights& d = g.layers[count(l)];
      Carried& c = carried[count(l)];
      const ConstNumbers psi = at_step(r.psi[count(l)], n, B, t);
      for (size_t i = 0; i < above.size(); ++i) {
        const double beta = adaptation(s, l, static_cast<int64_t>(i) / B), spike = psi[i] * (above[i] + c.z[i]);
        potential[i] = spike + c.v[i];
        c.a[i] -= beta * spike;  // now δa_t
      }
      const int64_t in = s.inputs_of(l);
      if (t > 0) add_outer({n, n, B}, potential, at_step(r.h[count(l)], n, B, t - 1), d.w);
      add_outer({n, in, B}, potential, at_step(l == 0 ? e.x : r.h[count(l - 1)], in, B, t), d.f);
      for (int64_t i = 0; i < n * B; ++i) d.b[count(i / B)] += potential[count(i)];

      if (rule == CreditRule::no_carry) {
        std::fill(c.a.begin(), c.a.end(), 0.0);  // z and v never carry anything
      } else {
        c.z = c.a;
        if (rule == CreditRule::bptt) {
          add_product_transposed({n, n, B}, k.w, potential, c.z);
        } else {
          for (int64_t i = 0; i < n * B; ++i) c.z[count(i)] += k.w[count(i / B * (n + 1))] * potential[count(i)];
        }
        for (size_t i = 0; i < c.v.size(); ++i) c.v[i] = (1 - s.leak[count(l)]) * potential[i], c.a[i] *= rho;
      }
      if (l == 0) break;
      for (size_t i = 0; spatial_only && i < above.size(); ++i) potential[i] = psi[i] * above[i];
      std::fill(down.begin(), down.end(), 0.0);
      if (rule != CreditRule::ablate_spatial) add_product_transposed({n, n, B}, k.f, potential, down);
      above.swap(down);
    }
  }
  finish_gradient(s, r, g);
  return g;
}

}  // namespace quern::lab
