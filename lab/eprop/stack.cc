// Forward pass of the stack, its random initialization, and the readout with its gradient.
#include "lab/eprop/stack.h"

#include <algorithm>
#include <cmath>

#include "lab/eprop/spiking.h"
#include "quern/base/error.h"

namespace quern::lab {
namespace {

size_t count(int64_t n) { return static_cast<size_t>(n); }

}  // namespace

void check(const StackShape& s) {
  if (s.layers() < 1) fail("leak: expected one number for each layer, found none");
  if (s.inputs < 1 || s.units < 1) fail("inputs {} and units {}: expected 1 or more", s.inputs, s.units);
  if (s.classes < 2) fail("classes {}: expected 2 or more", s.classes);
  for (double a : s.leak)
    if (!(a > 0 && a <= 1)) fail("leak {}: expected above 0 and at most 1", a);
  if (s.spiking.on) check(s.spiking);
}

// logits [C, B] become (softmax − target) / B.
void read_out(const StackShape& s, const StackWeights& w, const Episodes& e, int64_t t, ConstNumbers h, StackRun& r) {
  const int64_t B = e.batch, n = s.units, C = s.classes;
  const int* label = e.label.data() + t * B;
  if (std::all_of(label, label + B, [](int l) { return l < 0; })) return;
  std::vector<double> y(count(C * B));
  for (int64_t c = 0; c < C; ++c) std::fill_n(y.begin() + c * B, B, w.c[count(c)]);
  add_product({C, n, B}, w.v, h, y);
  for (int64_t b = 0; b < B; ++b) {
    if (label[b] < 0) {
      for (int64_t c = 0; c < C; ++c) y[count(c * B + b)] = 0;
      continue;
    }
    int64_t best = 0;
    for (int64_t c = 1; c < C; ++c)
      if (y[count(c * B + b)] > y[count(best * B + b)]) best = c;
    const double top = y[count(best * B + b)];
    double sum = 0;
    for (int64_t c = 0; c < C; ++c) sum += std::exp(y[count(c * B + b)] - top);
    r.loss += (top + std::log(sum) - y[count(label[b] * B + b)]) / static_cast<double>(B);
    ++r.asked, r.right += best == label[b];
    for (int64_t c = 0; c < C; ++c) {
      double& g = y[count(c * B + b)];
      g = (std::exp(g - top) / sum - (c == label[b] ? 1.0 : 0.0)) / static_cast<double>(B);
    }
  }
  add_outer({C, n, B}, y, h, r.dv);
  for (int64_t c = 0; c < C; ++c)
    for (int64_t b = 0; b < B; ++b) r.dc[count(c)] += y[count(c * B + b)];
  add_product_transposed({C, n, B}, w.v, y, Numbers(r.signal).subspan(count(t * n * B), count(n * B)));
}

StackWeights zero_weights(const StackShape& s) {
  StackWeights w;
  for (int64_t l = 0; l < s.layers(); ++l) {
    LayerWeights& k = w.layers.emplace_back();
    k.w.resize(count(s.units * s.units)), k.f.resize(count(s.units * s.inputs_of(l))), k.b.resize(count(s.units));
  }
  w.v.resize(count(s.classes * s.units)), w.c.resize(count(s.classes));
  return w;
}

StackWeights random_weights(const StackShape& s, Rng& rng, double radius) {
  check(s);
  StackWeights w = zero_weights(s);
  const auto draw = [&](std::vector<double>& m, int64_t fan_in) {
    for (double& x : m) x = rng.normal() / std::sqrt(static_cast<double>(fan_in));
  };
  for (int64_t l = 0; l < s.layers(); ++l) {
    LayerWeights& k = w.layers[count(l)];
    draw(k.w, s.units), draw(k.f, s.inputs_of(l));
    if (s.diagonal)
      for (int64_t i = 0; i < s.units * s.units; ++i)
        if (i % (s.units + 1) != 0) k.w[count(i)] = 0;
    const double scale = radius / spectral_radius(k.w, s.units);
    for (double& x : k.w) x *= scale;
  }
  draw(w.v, s.units);
  return w;
}

double spectral_radius(std::vector<double> a, int64_t n) {
  QUERN_CHECK(static_cast<int64_t>(a.size()) == n * n);
  constexpr int kSquarings = 40;
  double log_radius = 0, share = 1;  // after k squarings A^(2^k) = exp(log_radius / share) · a, share = 2^−k
  for (int k = 0;; ++k) {
    double norm = 0;
    for (double x : a) norm += x * x;
    norm = std::sqrt(norm);
    if (norm == 0) return 0;
    for (double& x : a) x /= norm;
    log_radius += share * std::log(norm);
    if (k == kSquarings) return std::exp(log_radius);
    std::vector<double> next(a.size());
    add_product({n, n, n}, a, a, next);
    a = std::move(next), share /= 2;
  }
}

StackRun empty_run(const StackShape& s, const StackWeights& w, const Episodes& e) {
  QUERN_CHECK(e.x.size() == count(e.steps * s.inputs * e.batch) && e.label.size() == count(e.steps * e.batch));
  StackRun r;
  r.h.assign(count(s.layers()), std::vector<double>(count(e.steps * s.units * e.batch)));
  r.psi = r.h;
  r.signal.resize(r.psi[0].size()), r.dv.resize(w.v.size()), r.dc.resize(w.c.size());
  return r;
}

StackRun run_stack(const StackShape& s, const StackWeights& w, const Episodes& e) {
  if (s.spiking.on) return run_spiking(s, w, e);
  const int64_t B = e.batch, T = e.steps, n = s.units;
  StackRun r = empty_run(s, w, e);
  std::vector<double> a(count(n * B));
  for (int64_t t = 0; t < T; ++t) {
    for (int64_t l = 0; l < s.layers(); ++l) {
      const LayerWeights& k = w.layers[count(l)];
      std::vector<double>&h = r.h[count(l)], &psi = r.psi[count(l)];
      for (int64_t i = 0; i < n; ++i) std::fill_n(a.begin() + i * B, B, k.b[count(i)]);
      const int64_t in = s.inputs_of(l);
      add_product({n, in, B}, k.f, at_step(l == 0 ? e.x : r.h[count(l - 1)], in, B, t), a);
      if (t > 0) add_product({n, n, B}, k.w, at_step(h, n, B, t - 1), a);
      const double leak = s.leak[count(l)];
      double *now = h.data() + t * n * B, *slope = psi.data() + t * n * B;
      for (int64_t i = 0; i < n * B; ++i) {
        const double y = std::tanh(a[count(i)]), before = t > 0 ? now[i - n * B] : 0;
        now[i] = (1 - leak) * before + leak * y;
        slope[i] = 1 - y * y;
      }
    }
    read_out(s, w, e, t, at_step(r.h.back(), n, B, t), r);
  }
  return r;
}

}  // namespace quern::lab
