// The rules in trace form (forward) for a spiking stack, one episode at a time: ε^v, ε^a, e and the readout's trace of
// e, for every weight p of layer m and every unit k of it or of a layer above. In layer m itself the recurrence of a
// rule keeps units separate, so that only unit p's own numbers are not zero; whole Jacobians (bptt) mix them.
#include <algorithm>

#include "lab/eprop/spiking.h"
#include "quern/base/error.h"

namespace quern::lab {
namespace {

size_t count(int64_t n) { return static_cast<size_t>(n); }

// Of the units of one layer, for weights of layer m: [n, P] each.
struct SpikeTraces {
  std::vector<double> v, a, e;
};

struct SpikingEpisode {
  const StackShape& s;
  const StackWeights& w;
  const Episodes& e;
  const StackRun& r;
  int64_t b;

  double spike(int64_t l, int64_t t, int64_t i) const {  // layer −1 is the input
    if (t < 0) return 0;
    if (l < 0) return e.x[count((t * s.inputs + i) * e.batch + b)];
    return r.h[count(l)][count((t * s.units + i) * e.batch + b)];
  }
  double slope(int64_t l, int64_t t, int64_t i) const {
    return r.psi[count(l)][count((t * s.units + i) * e.batch + b)];
  }
  double signal(int64_t t, int64_t i) const { return r.signal[count((t * s.units + i) * e.batch + b)]; }
  int64_t wide(int64_t m) const { return s.units + s.inputs_of(m) + 1; }
  double seed(int64_t m, int64_t t, int64_t j) const {  // ∂v of a unit / ∂(its weight j), this step alone
    return j < s.units ? spike(m, t - 1, j) : j + 1 < wide(m) ? spike(m - 1, t, j - s.units) : 1;
  }
};

// One step of layer l ≥ m: x from its own past and, above m, from the layer below's spikes of this step.
void advance(const SpikingEpisode& o, int64_t m, int64_t l, int64_t t, CreditRule rule, const SpikeTraces* below,
             SpikeTraces& x) {
  const int64_t n = o.s.units, wide = o.wide(m), P = n * wide;
  const LayerWeights& k = o.w.layers[count(l)];
  const bool carries = rule != CreditRule::no_carry && (l == m || rule != CreditRule::ablate_temporal);
  const double kept = carries ? 1 - o.s.leak[count(l)] : 0, rho = carries ? adaptation_kept(o.s) : 0;
  const std::vector<double> before = x.e;
  for (int64_t i = 0; i < n; ++i) {
    double *v = x.v.data() + i * P, *a = x.a.data() + i * P, *e = x.e.data() + i * P;
    for (int64_t p = 0; p < P; ++p) {
      v[p] *= kept;
      a[p] = rho * a[p] + (carries ? before[count(i * P + p)] : 0);
    }
    for (int64_t q = 0; carries && q < n; ++q) {
      if (q != i && rule != CreditRule::bptt) continue;
      for (int64_t p = 0; p < P; ++p) v[p] += k.w[count(i * n + q)] * before[count(q * P + p)];
    }
    for (int64_t q = 0; below && rule != CreditRule::ablate_spatial && q < n; ++q)
      for (int64_t p = 0; p < P; ++p) v[p] += k.f[count(i * n + q)] * below->e[count(q * P + p)];
    for (int64_t j = 0; l == m && j < wide; ++j) v[i * wide + j] += o.seed(m, t, j);
    const double psi = o.slope(l, t, i), beta = adaptation(o.s, l, i);
    for (int64_t p = 0; p < P; ++p) e[p] = psi * (v[p] - beta * a[p]);
  }
}

void learn_layer(const SpikingEpisode& o, int64_t m, CreditRule rule, LayerWeights& d) {
  const int64_t n = o.s.units, L = o.s.layers(), in = o.s.inputs_of(m), wide = o.wide(m), P = n * wide;
  const double keep = o.s.spiking.readout_keep;
  const std::vector<double> none(count(n * P));
  std::vector<SpikeTraces> traces(count(L - m), {none, none, none});
  std::vector<double> seen = none, owed(count(P));
  for (int64_t t = 0; t < o.e.steps; ++t) {
    for (int64_t l = m; l < L; ++l)
      advance(o, m, l, t, rule, l > m ? &traces[count(l - m - 1)] : nullptr, traces[count(l - m)]);
    for (size_t i = 0; i < seen.size(); ++i) seen[i] = keep * seen[i] + (1 - keep) * traces.back().e[i];
    for (int64_t k = 0; k < n; ++k)
      for (int64_t p = 0; p < P; ++p) owed[count(p)] += o.signal(t, k) * seen[count(k * P + p)];
  }
  for (int64_t i = 0; i < n; ++i) {
    const double* row = owed.data() + i * wide;
    for (int64_t j = 0; j < n; ++j) d.w[count(i * n + j)] += row[j];
    for (int64_t j = 0; j < in; ++j) d.f[count(i * in + j)] += row[n + j];
    d.b[count(i)] += row[n + in];
  }
}

}  // namespace

StackWeights spiking_traces(const StackShape& s, const StackWeights& w, const Episodes& e, const StackRun& r,
                            CreditRule rule) {
  StackWeights g = zero_weights(s);
  for (int64_t b = 0; rule != CreditRule::readout && b < e.batch; ++b)
    for (int64_t m = 0; m < s.layers(); ++m) learn_layer({s, w, e, r, b}, m, rule, g.layers[count(m)]);
  finish_gradient(s, r, g);
  return g;
}

}  // namespace quern::lab
