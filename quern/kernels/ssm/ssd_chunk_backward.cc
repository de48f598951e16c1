// Chunked SSD, backward. Per head and chunk, with u = ΔX, M = (C·Bᵀ) ∘ L, S the entering state, F = ∂loss/∂(leaving
// state), E = diag(e^s), K = diag(e^(s_last − s)):
//   gM = gY·uᵀ;  gCB = gM ∘ L, summed over the group's heads;  V = gY·Sᵀ;  U = u·Fᵀ
//   gC = gCB·B + E·V;  gB = gCBᵀ·C + K·U;  gu = Mᵀ·gY + K·B·F;  F ← e^(s_last)·F + (E·C)ᵀ·gY
//   gX = Δ·gu + D·gY;  gΔ_t = gu_t·X_t + A·ga_t
//   ga_t = Σ_{j<t≤i} gM_ij·M_ij + Σ_{i≥t} e^(s_i)·C_i·V_i + Σ_{j<t} K_j·B_j·U_j + e^(s_last)·⟨F, S⟩
// ga is a sum of parts, never a difference of running sums. Entering states are recomputed in a first pass.
#include <algorithm>
#include <array>
#include <cmath>

#include "quern/base/threads.h"
#include "quern/kernels/gemm/tile.h"
#include "quern/kernels/ssm/ssd_chunk.h"

namespace quern::kernels {
namespace {

constexpr int64_t Q = kSsdChunk;

struct HeadSums {  // of one head in one segment
  double a_log = 0, d = 0, bias = 0;
};

class Backward {
 public:
  Backward(const SsdTable& f, const SsdInputs<float>& in, View<const float, 2> gy, const SsdGrads<float>& o,
           const SsdItems& items, View<float, 3> gb, View<float, 3> gc, HeadSums* sums)
      : f_(f),
        in_(in),
        gy_(gy),
        o_(o),
        z_(items),
        gb_(gb),
        gc_(gc),
        sums_(sums),
        Pp_(pad16(z_.P)),
        Np_(pad16(z_.N)) {}

  void operator()(const SsdItem& item) const {
    Arena& scratch = thread_arena();
    Arena::Scope scope(scratch);
    const int64_t begin = in_.offsets[static_cast<size_t>(item.segment)],
                  end = in_.offsets[static_cast<size_t>(item.segment) + 1], chunks = (end - begin + Q - 1) / Q;
    if (begin == end) return;
    const int64_t state = z_.N * Pp_;
    Buffers w(scratch, z_.N, Np_, Pp_, state);
    w.deltas = scratch.take<float>((end - begin) * item.heads).data();
    w.states = scratch.take<float>(chunks * item.heads * state).data();
    w.F = scratch.take<float>(item.heads * state).data();
    std::fill_n(w.F, item.heads * state, 0.0f);
    f_.delta({.dt = in_.dt.row(begin) + item.head,
              .dt_row = in_.dt.stride[0],
              .bias = in_.bias.data + item.head,
              .lo = static_cast<float>(in_.dt_min),
              .hi = static_cast<float>(in_.dt_max),
              .rows = end - begin,
              .heads = item.heads,
              .delta = w.deltas});
    entering_states(item, begin, end, w);
    for (int64_t k = chunks - 1; k >= 0; --k) chunk(item, begin, k, std::min(Q, end - begin - k * Q), w);
  }

 private:
  struct Buffers {
    float *b, *c, *bt, *cb, *gcb, *gb, *gc;                  // of a chunk
    float *m, *gm, *r, *u, *ut, *g, *gu, *st, *ft, *v, *ce;  // of a head in it
    float *deltas = nullptr, *states = nullptr, *F = nullptr;
    Buffers(Arena& a, int64_t N, int64_t Np, int64_t Pp, int64_t state) {
      for (float** p : {&b, &c, &gb, &gc, &v, &ce}) *p = a.take<float>(Q * Np).data();
      for (float** p : {&cb, &gcb, &m, &gm, &r}) *p = a.take<float>(Q * Q).data();
      for (float** p : {&u, &ut, &g, &gu}) *p = a.take<float>(Q * Pp).data();
      bt = a.take<float>(N * Q).data();
      for (float** p : {&st, &ft}) *p = a.take<float>(std::max(state, Pp * Np)).data();
    }
  };

  float rate(int64_t h) const { return -std::exp(in_.a_log(h)); }
  const float* x_row(int64_t t, int64_t head) const { return in_.x.row(t) + head * z_.P; }

  static void transpose(const float* src, int64_t row, int64_t rows, int64_t columns, float* dst, int64_t dst_row) {
    tile_kernels().transpose(reinterpret_cast<const uint32_t*>(src), row, rows, columns,
                             reinterpret_cast<uint32_t*>(dst), dst_row);
  }
  static void scale(float* x, float k, int64_t n) {
    for (int64_t i = 0; i < n; ++i) x[i] *= k;
  }

  void entering_states(const SsdItem& item, int64_t begin, int64_t end, const Buffers& w) const {
    const int64_t state = z_.N * Pp_;
    std::fill_n(w.states, item.heads * state, 0.0f);
    for (int64_t k = 0; begin + (k + 1) * Q < end; ++k) {
      const int64_t t = begin + k * Q;
      for (int64_t h = 0; h < item.heads; ++h) {
        const float* from = w.states + (k * item.heads + h) * state;
        float* to = w.states + ((k + 1) * item.heads + h) * state;
        SsdChunkRates r;
        r.fill(f_, w.deltas + k * Q * item.heads + h, item.heads, rate(item.head + h), Q);
        for (int64_t i = 0; i < Q; ++i) r.out[i] *= r.delta[i];
        f_.scale_rows({.x = x_row(t, item.head + h),
                       .x_row = in_.x.stride[0],
                       .f = r.out,
                       .rows = Q,
                       .n = z_.P,
                       .n_pad = Pp_,
                       .y = w.u,
                       .y_row = Pp_});
        std::copy_n(from, state, to);
        scale(to, r.carry, state);
        product({in_.b.row(t) + item.group * z_.N, 1, in_.b.stride[0], w.u, Pp_, to, Pp_, z_.N, Pp_, Q, true});
      }
    }
  }

  void chunk(const SsdItem& item, int64_t begin, int64_t k, int64_t q, const Buffers& w) const {
    const int64_t t = begin + k * Q, N = z_.N;
    copy_group(f_, in_, item.group, {.t = t, .q = q, .b = w.b, .c = w.c});
    transpose(w.b, Np_, q, N, w.bt, Q);
    product({w.c, Np_, 1, w.bt, Q, w.cb, Q, q, pad16(q), N, false, Band::columns});
    std::fill_n(w.gcb, q * Q, 0.0f);
    std::fill_n(w.gb, q * Np_, 0.0f);
    std::fill_n(w.gc, q * Np_, 0.0f);
    for (int64_t h = 0; h < item.heads; ++h) head(item, t, k, h, q, w);
    product({w.gcb, Q, 1, w.b, Np_, w.gc, Np_, q, Np_, q, true, Band::past});
    product({w.gcb, 1, Q, w.c, Np_, w.gb, Np_, q, Np_, q, true, Band::future});
    for (int64_t i = 0; i < q; ++i) {
      std::copy_n(w.gb + i * Np_, N, gb_[item.block].row(t + i) + item.group * N);
      std::copy_n(w.gc + i * Np_, N, gc_[item.block].row(t + i) + item.group * N);
    }
  }

  void head(const SsdItem& item, int64_t t, int64_t k, int64_t h, int64_t q, const Buffers& w) const {
    const int64_t N = z_.N, P = z_.P, state = N * Pp_, head = item.head + h;
    const float *S = w.states + (k * item.heads + h) * state, *x = x_row(t, head), D = in_.d(head), A = rate(head);
    float* F = w.F + h * state;
    SsdChunkRates r;
    r.fill(f_, w.deltas + k * Q * item.heads + h, item.heads, A, q);
    f_.scale_rows(
        {.x = x, .x_row = in_.x.stride[0], .f = r.delta, .rows = q, .n = P, .n_pad = Pp_, .y = w.u, .y_row = Pp_});
    f_.scale_rows({.x = gy_.row(t) + head * P,
                   .x_row = gy_.stride[0],
                   .rows = q,
                   .n = P,
                   .n_pad = Pp_,
                   .y = w.g,
                   .y_row = Pp_});

    transpose(w.u, Pp_, q, P, w.ut, Q);
    product({w.g, Pp_, 1, w.ut, Q, w.gm, Q, q, pad16(q), P, false, Band::columns});
    f_.decay_backward(
        {.cb = w.cb, .dm = w.gm, .hi = r.s, .lo = r.s_lo, .q = q, .row = Q, .to = w.m, .dcb = w.gcb, .r = w.r});

    std::array<float, Q> seen, kept, gx_x;  // e^s·C·V, K·B·U, gu·X per row
    transpose(S, Pp_, N, P, w.st, Np_);
    product({w.g, Pp_, 1, w.st, Np_, w.v, Np_, q, Np_, P});
    f_.row_dots({.a = w.v, .a_row = Np_, .b = w.c, .b_row = Np_, .rows = q, .n = N, .out = seen.data()});
    f_.add_rows({.x = w.v, .x_row = Np_, .f = r.in, .rows = q, .n = N, .y = w.gc, .y_row = Np_});
    transpose(F, Pp_, N, P, w.ft, Np_);
    product({w.u, Pp_, 1, w.ft, Np_, w.v, Np_, q, Np_, P});
    f_.row_dots({.a = w.v, .a_row = Np_, .b = w.b, .b_row = Np_, .rows = q, .n = N, .out = kept.data()});
    f_.add_rows({.x = w.v, .x_row = Np_, .f = r.out, .rows = q, .n = N, .y = w.gb, .y_row = Np_});

    f_.scale_rows({.x = w.b, .x_row = Np_, .f = r.out, .rows = q, .n = N, .n_pad = N, .y = w.ce, .y_row = Np_});
    product({w.ce, Np_, 1, F, Pp_, w.gu, Pp_, q, Pp_, N});
    product({w.m, 1, Q, w.g, Pp_, w.gu, Pp_, q, Pp_, q, true, Band::future});
    f_.blend_rows({.a = w.gu,
                   .a_row = Pp_,
                   .f = r.delta,
                   .b = w.g,
                   .b_row = Pp_,
                   .d = D,
                   .rows = q,
                   .n = P,
                   .out = o_.gx.row(t) + head * P,
                   .out_row = o_.gx.stride[0]});
    f_.row_dots({.a = w.gu, .a_row = Pp_, .b = x, .b_row = in_.x.stride[0], .rows = q, .n = P, .out = gx_x.data()});

    float carried = 0;
    f_.row_dots({.a = F, .a_row = state, .b = S, .b_row = state, .rows = 1, .n = state, .out = &carried});
    carried *= r.carry;
    f_.scale_rows({.x = w.c, .x_row = Np_, .f = r.in, .rows = q, .n = N, .n_pad = N, .y = w.ce, .y_row = Np_});
    scale(F, r.carry, state);
    product({w.ce, 1, Np_, w.g, Pp_, F, Pp_, N, Pp_, q, true});

    std::array<float, Q> g_a;
    decay_gradients(r, w.r, seen.data(), kept.data(), carried, q, g_a.data());
    HeadSums& sum = sums_[item.segment * z_.H + head];
    std::array<float, Q> x_g;
    f_.row_dots({.a = w.g, .a_row = Pp_, .b = x, .b_row = in_.x.stride[0], .rows = q, .n = P, .out = x_g.data()});
    for (int64_t i = 0; i < q; ++i) {
      const double pre = static_cast<double>(in_.dt(t + i, head)) + static_cast<double>(in_.bias(head)),
                   soft = pre > 20 ? pre : std::log1p(std::exp(pre));
      const bool clamped = soft < in_.dt_min || soft > in_.dt_max;
      const double g_dt = clamped ? 0 : static_cast<double>(gx_x[i] + A * g_a[i]) / (1 + std::exp(-pre));
      o_.gdt(t + i, head) = static_cast<float>(g_dt);
      sum.bias += g_dt;
      sum.a_log += static_cast<double>(A * r.delta[i] * g_a[i]);
      sum.d += static_cast<double>(x_g[i]);
    }
  }

  // g_a[t]: straddling pairs by a running column sum over rows from the end, so that every term is added once.
  static void decay_gradients(const SsdChunkRates& r, const float* pairs, const float* seen, const float* kept,
                              float carried, int64_t q, float* g_a) {
    std::array<float, Q> column{};
    float later = 0;
    for (int64_t t = q - 1; t >= 0; --t) {
      later += r.in[t] * seen[t];
      float straddling = 0, earlier = 0;
      for (int64_t j = 0; j < t; ++j) {
        column[static_cast<size_t>(j)] += pairs[t * Q + j];
        straddling += column[static_cast<size_t>(j)];
        earlier += r.out[j] * kept[j];
      }
      g_a[t] = straddling + later + earlier + carried;
    }
  }

  const SsdTable& f_;
  const SsdInputs<float>& in_;
  View<const float, 2> gy_;
  const SsdGrads<float>& o_;
  const SsdItems& z_;
  View<float, 3> gb_, gc_;  // [blocks, T, G·N]
  HeadSums* sums_;          // [segments, H]
  int64_t Pp_, Np_;
};

}  // namespace

void ssd_backward_fast(const SsdTable& f, const SsdInputs<float>& in, View<const float, 2> gy, SsdGrads<float> o,
                       Arena& scratch) {
  Arena::Scope scope(scratch);
  const SsdItems items(in);
  const int64_t T = in.x.shape[0], width = items.G * items.N, segments = static_cast<int64_t>(in.offsets.size()) - 1;
  // Heads of one group in different items each leave their share of gB and gC; the shares are added in order.
  auto shares = [&](View<float, 2> g) {
    if (items.blocks == 1) return View<float, 3>(g.data, {1, T, width}, {0, g.stride[0], 1});
    return View<float, 3>(scratch.take<float>(items.blocks * T * width).data(), {items.blocks, T, width});
  };
  const View<float, 3> gb = shares(o.gb), gc = shares(o.gc);
  HeadSums* sums = scratch.take<HeadSums>(segments * items.H).data();
  std::fill_n(sums, segments * items.H, HeadSums{});
  const Backward run(f, in, gy, o, items, gb, gc, sums);
  parallel_dynamic(items.count(), [&](int64_t i) { run(items[i]); });
  if (items.blocks > 1)
    parallel_for(T, 64, [&](int64_t begin, int64_t end) {
      for (auto [to, from] : {std::pair{o.gb, gb}, std::pair{o.gc, gc}})
        for (int64_t t = begin; t < end; ++t)
          for (int64_t i = 0; i < width; ++i) {
            float sum = 0;
            for (int64_t k = 0; k < items.blocks; ++k) sum += from(k, t, i);
            to(t, i) = sum;
          }
    });
  for (int64_t s = 0; s < segments; ++s)
    for (int64_t h = 0; h < items.H; ++h) {
      const HeadSums& v = sums[s * items.H + h];
      if (o.ga_log) o.ga_log(h) += static_cast<float>(v.a_log);
      if (o.gd) o.gd(h) += static_cast<float>(v.d);
      if (o.gbias) o.gbias(h) += static_cast<float>(v.bias);
    }
}

}  // namespace quern::kernels
