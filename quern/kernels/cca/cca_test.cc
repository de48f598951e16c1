// The fused latent path against its definition out of the separate kernels; q/k mean against its formula and adjoint.
#include "quern/kernels/cca/cca.h"

#include <gtest/gtest.h>

#include <cmath>

#include "quern/base/cpu.h"
#include "quern/base/rng.h"
#include "quern/kernels/conv/conv.h"
#include "quern/kernels/norm/norm.h"

namespace quern::kernels {
namespace {

std::vector<float> random_floats(int64_t n, uint64_t seed, double scale = 1) {
  Rng rng(seed);
  std::vector<float> v(static_cast<size_t>(n));
  for (float& x : v) x = static_cast<float>(scale * rng.normal());
  return v;
}

struct Form {
  int64_t n_head, n_head_kv, d, t0, t1;
  bool mean, history, positions;
  std::vector<int32_t> offsets;
};

template <class T>
View<T, 3> heads(T* data, int64_t rows, int64_t stride, int64_t first, int64_t n, int64_t d) {
  return {data + first * d, {rows, n, d}, {stride, d, 1}};
}

// One segment at a time, by the definition: history in front, convolutions, mean, norm, positions.
void definition(const CcaLatentShape& s, const Form& f, const std::vector<float>& w0, const std::vector<float>& b0,
                const std::vector<float>& w1, const std::vector<float>& b1, const std::vector<float>& temperature,
                const CcaLatent& a, View<float, 3> q, View<float, 3> k) {
  const int64_t C = (f.n_head + f.n_head_kv) * f.d,
                P = std::max<int64_t>(f.t0 - 1, 0) + std::max<int64_t>(f.t1 - 1, 0);
  for (size_t g = 0; g + 1 < f.offsets.size(); ++g) {
    const int64_t from = f.offsets[g], n = f.offsets[g + 1] - from;
    std::vector<float> zz(static_cast<size_t>((n + P) * C), 0.0f);
    for (int64_t r = 0; r < P && !a.history.empty(); ++r)
      std::copy_n(a.history[g].row(r), C, &zz[static_cast<size_t>(r * C)]);
    for (int64_t r = 0; r < n; ++r) std::copy_n(a.z.row(from + r), C, &zz[static_cast<size_t>((P + r) * C)]);
    auto convolved = [&](std::vector<float> x, int64_t taps, auto&& conv) {
      if (taps == 0) return x;
      int32_t in = static_cast<int32_t>(x.size()) / static_cast<int32_t>(C),
              out = in - static_cast<int32_t>(taps) + 1;
      std::vector<float> y(static_cast<size_t>(out * C));
      std::array<int32_t, 2> i{0, in}, o{0, out};
      conv(View<const float, 2>(x.data(), {in, C}), ConvSpans{i, o}, View<float, 2>(y.data(), {out, C}));
      return y;
    };
    std::vector<float> y = convolved(zz, f.t0, [&](auto x, auto spans, auto out) {
      depthwise_conv<float>(x, {w0.data(), {C, f.t0}}, {b0.data(), {C}}, spans, out);
    });
    y = convolved(y, f.t1, [&](auto x, auto spans, auto out) {
      grouped_conv<float>({.x = x,
                           .w = {w1.data(), {C, f.d, f.t1}},
                           .b = {b1.data(), {C}},
                           .groups = f.n_head + f.n_head_kv,
                           .spans = spans,
                           .y = out},
                          thread_arena());
    });
    if (f.mean)
      add_qk_mean<float>(heads(a.z.row(from), n, a.z.stride[0], 0, C / f.d, f.d), f.n_head,
                         heads(y.data(), n, C, 0, C / f.d, f.d));
    l2_norm<float>(heads<const float>(y.data(), n, C, 0, f.n_head, f.d), {}, s.scale, s.l2_eps,
                   q.slice(from, from + n), {});
    l2_norm<float>(heads<const float>(y.data(), n, C, f.n_head, f.n_head_kv, f.d),
                   {temperature.data(), {f.n_head_kv}}, s.scale, s.l2_eps, k.slice(from, from + n), {});
  }
  if (!f.positions) return;
  rope<float>(q, a.cos, a.sin, s.pairing, RopeTurn::forward, q);
  rope<float>(k, a.cos, a.sin, s.pairing, RopeTurn::forward, k);
}

void expect_equal_definition(const Form& f) {
  const int64_t T = f.offsets.back(), C = (f.n_head + f.n_head_kv) * f.d,
                P = std::max<int64_t>(f.t0 - 1, 0) + std::max<int64_t>(f.t1 - 1, 0);
  const int64_t stride = C + 3;  // z is a part of wider rows
  auto z = random_floats(T * stride, 1), w0 = random_floats(C * f.t0, 2), b0 = random_floats(C, 3),
       w1 = random_floats(C * f.d * f.t1, 4, 0.3), b1 = random_floats(C, 5);
  auto temperature = random_floats(f.n_head_kv, 6),
       old = random_floats(P * C * static_cast<int64_t>(f.offsets.size()), 7);
  std::vector<int32_t> positions(static_cast<size_t>(T));
  for (int64_t t = 0; t < T; ++t) positions[static_cast<size_t>(t)] = static_cast<int32_t>(7 + t);
  auto frequencies = rope_inv_freq(f.d / 2, 100);
  std::vector<float> cos(static_cast<size_t>(T * f.d / 4)), sin(cos);
  const std::array<int64_t, 2> table{T, f.d / 4};
  rope_table<float>(positions, frequencies, {cos.data(), table}, {sin.data(), table});

  CcaLatentShape s{.n_head = f.n_head,
                   .n_head_kv = f.n_head_kv,
                   .head_dim = f.d,
                   .qk_mean = f.mean,
                   .scale = std::sqrt(static_cast<double>(f.d)),
                   .l2_eps = 1e-7};
  CcaLatentWeights w;
  if (f.t0) w.depthwise = {w0.data(), {C, f.t0}}, w.depthwise_bias = {b0.data(), {C}};
  if (f.t1) w.grouped = cca_pack_grouped({w1.data(), {C, f.d, f.t1}}), w.grouped_bias = {b1.data(), {C}};
  w.temperature = {temperature.data(), {f.n_head_kv}};
  std::vector<float> q(static_cast<size_t>(T * f.n_head * f.d)), k(static_cast<size_t>(T * f.n_head_kv * f.d)),
      q_ref(q), k_ref(k);
  auto q_view = [&](std::vector<float>& v) { return View<float, 3>(v.data(), {T, f.n_head, f.d}); };
  auto k_view = [&](std::vector<float>& v) { return View<float, 3>(v.data(), {T, f.n_head_kv, f.d}); };
  CcaLatent a;
  a.z = {z.data(), {T, C}, {stride, 1}};
  a.offsets = f.offsets;
  for (size_t g = 0; f.history && g + 1 < f.offsets.size(); ++g)
    a.history.emplace_back(old.data() + static_cast<int64_t>(g) * P * C, std::array<int64_t, 2>{P, C});
  if (f.positions) a.cos = {cos.data(), table}, a.sin = {sin.data(), table};
  a.q = q_view(q), a.k = k_view(k);
  cca_latent(s, w, a);
  definition(s, f, w0, b0, w1, b1, temperature, a, q_view(q_ref), k_view(k_ref));
  for (size_t i = 0; i < q.size(); ++i) ASSERT_NEAR(q[i], q_ref[i], 3e-5) << "q " << i;
  for (size_t i = 0; i < k.size(); ++i) ASSERT_NEAR(k[i], k_ref[i], 3e-5) << "k " << i;
}

TEST(CcaLatent, EqualsTheSeparateKernelsOnEveryIsa) {
  const Isa before = active_isa();
  for (Isa isa : {Isa::ref, Isa::avx2, Isa::avx512}) {
    if (isa > detected_isa()) continue;
    set_active_isa(isa);
    for (bool history : {false, true}) {
      expect_equal_definition(
          {4, 2, 8, 2, 2, true, history, true, {0, 1, 6, 6, 250}});  // an empty segment, a tile's border
      expect_equal_definition({4, 1, 16, 3, 2, true, history, true, {0, 5}});
      expect_equal_definition({2, 2, 8, 4, 3, true, history, false, {0, 2, 3}});
      expect_equal_definition({4, 2, 8, 3, 0, false, history, true, {0, 9}});
      expect_equal_definition({4, 2, 8, 0, 3, true, history, true, {0, 9, 300}});
      expect_equal_definition({2, 1, 8, 0, 0, true, history, false, {0, 3}});
    }
  }
  set_active_isa(before);
}

TEST(QkMean, FormulaAndAdjoint) {
  const std::array<int64_t, 3> shape{1, 3, 1};  // two query heads, one key head, one dim
  const std::vector<double> z = {2, 6, 10};
  std::vector<double> m(3, 1.0);
  add_qk_mean<double>({z.data(), shape}, 2, {m.data(), shape});
  EXPECT_EQ(m, (std::vector<double>{1 + 6, 1 + 8, 1 + 7}));  // ½(2+10), ½(6+10), their mean
  // ⟨g, M z⟩ = ⟨Mᵀ g, z⟩
  const std::vector<double> g = {0.3, -1.1, 0.7};
  std::vector<double> mz(3, 0.0), mtg(3, 0.0);
  add_qk_mean<double>({z.data(), shape}, 2, {mz.data(), shape});
  add_qk_mean_backward<double>({g.data(), shape}, 2, {mtg.data(), shape});
  double left = 0, right = 0;
  for (size_t i = 0; i < 3; ++i) left += g[i] * mz[i], right += mtg[i] * z[i];
  EXPECT_NEAR(left, right, 1e-12);
}

}  // namespace
}  // namespace quern::kernels
