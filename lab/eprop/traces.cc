// The rules in trace form (forward): traces ε of the influence of each weight on each unit, updated step by step; step
// t reads only h_{t−1}, h_t and ψ_t. One episode at a time. Weights of unit i of layer m form one row of `wide`
// numbers: W's, F's and b. A layer's own traces have that length, ε[i, j], since κ keeps units separate; the traces in
// a layer above are ε[k, i, j] for every unit k of it.
#include <algorithm>

#include "lab/eprop/credit.h"
#include "lab/eprop/spiking.h"
#include "quern/base/error.h"

namespace quern::lab {
namespace {

size_t count(int64_t n) { return static_cast<size_t>(n); }

// One episode out of the batch.
struct OneEpisode {
  const StackShape& s;
  const StackWeights& w;
  const Episodes& e;
  const StackRun& r;
  int64_t b;

  double h(int64_t l, int64_t t, int64_t i) const {  // layer −1 is the input
    if (t < 0) return 0;
    if (l < 0) return e.x[count((t * s.inputs + i) * e.batch + b)];
    return r.h[count(l)][count((t * s.units + i) * e.batch + b)];
  }
  double slope(int64_t l, int64_t t, int64_t i) const {  // α ψ
    return s.leak[count(l)] * r.psi[count(l)][count((t * s.units + i) * e.batch + b)];
  }
  double signal(int64_t t, int64_t i) const { return r.signal[count((t * s.units + i) * e.batch + b)]; }
  double temporal(int64_t l, int64_t t, int64_t k, int64_t q) const {  // R[k, q]
    return (k == q ? 1 - s.leak[count(l)] : 0) + slope(l, t, k) * w.layers[count(l)].w[count(k * s.units + q)];
  }
  double spatial(int64_t l, int64_t t, int64_t k, int64_t q) const {  // J[k, q], l > 0
    return slope(l, t, k) * w.layers[count(l)].f[count(k * s.units + q)];
  }
  int64_t wide(int64_t m) const { return s.units + s.inputs_of(m) + 1; }
  double seed(int64_t m, int64_t t, int64_t i, int64_t j) const {  // ∂h_i/∂(weight j of unit i), this step alone
    const double x = j < s.units ? h(m, t - 1, j) : j + 1 < wide(m) ? h(m - 1, t, j - s.units) : 1;
    return slope(m, t, i) * x;
  }
};

void add_row(const StackShape& s, int64_t m, int64_t i, int64_t j, double x, LayerWeights& d) {
  const int64_t n = s.units, in = s.inputs_of(m);
  if (j < n) {
    d.w[count(i * n + j)] += x;
  } else if (j < n + in) {
    d.f[count(i * in + j - n)] += x;
  } else {
    d.b[count(i)] += x;
  }
}

void trace_one(const OneEpisode& o, int64_t m, CreditRule rule, LayerWeights& d) {
  const int64_t n = o.s.units, L = o.s.layers(), wide = o.wide(m), P = n * wide;
  std::vector<double> own(count(P)), before;
  std::vector<std::vector<double>> cross(count(L - m - 1), std::vector<double>(count(n * P)));
  const bool carries = rule != CreditRule::no_carry, carries_above = carries && rule != CreditRule::ablate_temporal;
  for (int64_t t = 0; t < o.e.steps; ++t) {
    for (int64_t i = 0; i < n; ++i) {
      const double kappa = carries ? o.temporal(m, t, i, i) : 0;
      for (int64_t j = 0; j < wide; ++j) {
        double& x = own[count(i * wide + j)];
        x = kappa * x + o.seed(m, t, i, j);
      }
    }
    for (int64_t l = m + 1; l < L; ++l) {
      std::vector<double>& x = cross[count(l - m - 1)];
      for (int64_t k = 0; k < n; ++k) {
        const double kappa = carries_above ? o.temporal(l, t, k, k) : 0;
        double* row = x.data() + k * P;
        for (int64_t p = 0; p < P; ++p) row[p] *= kappa;
        for (int64_t q = 0; q < n && rule != CreditRule::ablate_spatial; ++q) {
          const double j = o.spatial(l, t, k, q);
          if (l == m + 1) {
            for (int64_t p = q * wide; p < (q + 1) * wide; ++p) row[p] += j * own[count(p)];
          } else {
            const double* from = cross[count(l - m - 2)].data() + q * P;
            for (int64_t p = 0; p < P; ++p) row[p] += j * from[p];
          }
        }
      }
    }
    for (int64_t k = 0; k < n; ++k) {
      const double learn = o.signal(t, k);
      if (learn == 0) continue;
      if (m == L - 1) {
        for (int64_t j = 0; j < wide; ++j) add_row(o.s, m, k, j, learn * own[count(k * wide + j)], d);
        continue;
      }
      const double* row = cross.back().data() + k * P;
      for (int64_t p = 0; p < P; ++p) add_row(o.s, m, p / wide, p % wide, learn * row[p], d);
    }
  }
}

void rtrl_one(const OneEpisode& o, int64_t m, LayerWeights& d) {
  const int64_t n = o.s.units, L = o.s.layers(), wide = o.wide(m), P = n * wide;
  std::vector<std::vector<double>> influence(count(L - m), std::vector<double>(count(n * P)));
  std::vector<double> next(count(n * P));
  for (int64_t t = 0; t < o.e.steps; ++t) {
    for (int64_t l = m; l < L; ++l) {
      std::vector<double>& x = influence[count(l - m)];
      std::fill(next.begin(), next.end(), 0.0);
      for (int64_t k = 0; k < n; ++k) {
        double* row = next.data() + k * P;
        for (int64_t q = 0; q < n; ++q) {
          const double through_time = o.temporal(l, t, k, q), down = l > m ? o.spatial(l, t, k, q) : 0;
          for (int64_t p = 0; p < P; ++p) row[p] += through_time * x[count(q * P + p)];
          for (int64_t p = 0; l > m && p < P; ++p) row[p] += down * influence[count(l - m - 1)][count(q * P + p)];
        }
        for (int64_t j = 0; l == m && j < wide; ++j) row[k * wide + j] += o.seed(m, t, k, j);
      }
      x.swap(next);
    }
    for (int64_t k = 0; k < n; ++k)
      for (int64_t p = 0; p < P; ++p)
        add_row(o.s, m, p / wide, p % wide, o.signal(t, k) * influence.back()[count(k * P + p)], d);
  }
}

}  // namespace

StackWeights trace_gradient(const StackShape& s, const StackWeights& w, const Episodes& e, const StackRun& r,
                            CreditRule rule) {
  QUERN_CHECK(rule != CreditRule::bptt, "the whole Jacobians are rtrl_gradient's");
  if (s.spiking.on) return spiking_traces(s, w, e, r, rule);
  StackWeights g = zero_weights(s);
  for (int64_t b = 0; b < e.batch && rule != CreditRule::readout; ++b)
    for (int64_t m = 0; m < s.layers(); ++m) trace_one({s, w, e, r, b}, m, rule, g.layers[count(m)]);
  finish_gradient(s, r, g);
  return g;
}

StackWeights rtrl_gradient(const StackShape& s, const StackWeights& w, const Episodes& e, const StackRun& r) {
  if (s.spiking.on) return spiking_traces(s, w, e, r, CreditRule::bptt);
  StackWeights g = zero_weights(s);
  for (int64_t b = 0; b < e.batch; ++b)
    for (int64_t m = 0; m < s.layers(); ++m) rtrl_one({s, w, e, r, b}, m, g.layers[count(m)]);
  finish_gradient(s, r, g);
  return g;
}

int64_t trace_numbers(const StackShape& s) {
  int64_t total = 0;
  for (int64_t m = 0; m < s.layers(); ++m) {
    const int64_t weights = s.units * (s.units + s.inputs_of(m) + 1), above = s.layers() - m - 1;
    // Spiking: potential, adaptation, spike and what the readout's trace kept, for every unit of every layer.
    total += s.spiking.on ? (3 * (above + 1) + 1) * s.units * weights : (1 + above * s.units) * weights;
  }
  return total;
}

}  // namespace quern::lab
