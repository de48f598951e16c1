// Chunked SSD, forward: matrix products by quern/kernels/gemm's tiles, everything between them by SsdTable. Arrays of
// one item: b, c [Q, Np]; bt [N, Q]; cb, m [Q, Q]; u = ΔX [Q, Pp]; states [heads][N, Pp]; Np, Pp padded to 16.
#include "quern/kernels/ssm/ssd_chunk.h"

#include <algorithm>
#include <cmath>

#include "quern/base/threads.h"
#include "quern/kernels/gemm/tile.h"

namespace quern::kernels {

void product(const Product& p) {
  const TileKernels& kernels = tile_kernels();
  for (int64_t j = 0; j < p.n; j += kTileColumns)
    for (int64_t i = 0; i < p.m; i += kTileRows) {
      const int64_t rows = std::min<int64_t>(kTileRows, p.m - i);
      int64_t groups = std::min<int64_t>(kTileColumns, p.n - j) / 16, k0 = 0, k1 = p.k;
      if (p.band == Band::past) k1 = std::min(k1, i + rows);
      if (p.band == Band::future) k0 = i;
      if (p.band == Band::columns) {
        if (j >= i + rows) continue;
        groups = std::min(groups, (i + rows - j + 15) / 16);
      }
      kernels.f32({.a = p.a + i * p.a_row + k0 * p.a_k,
                   .a_row = p.a_row,
                   .a_k = p.a_k,
                   .b = p.b + k0 * p.b_row + j,
                   .b_k = p.b_row,
                   .c = p.c + i * p.c_row + j,
                   .c_row = p.c_row,
                   .k = k1 - k0,
                   .rows = static_cast<int>(rows),
                   .groups = static_cast<int>(groups),
                   .add = p.add});
    }
}

void copy_group(const SsdTable& f, const SsdInputs<float>& in, int64_t group, const SsdChunkBC& to) {
  const int64_t n = in.n_state(), n_pad = pad16(n);
  const auto copy = [&](const View<const float, 2>& from, float* y) {
    f.scale_rows({.x = from.row(to.t) + group * n,
                  .x_row = from.stride[0],
                  .rows = to.q,
                  .n = n,
                  .n_pad = n_pad,
                  .y = y,
                  .y_row = n_pad});
  };
  copy(in.b, to.b), copy(in.c, to.c);
}

void SsdChunkRates::fill(const SsdTable& f, const float* deltas, int64_t row, float a, int64_t q) {
  double sums[kSsdChunk], sum = 0;
  for (int64_t i = 0; i < q; ++i) {
    delta[i] = deltas[i * row];
    sums[i] = sum += static_cast<double>(a) * static_cast<double>(delta[i]);
    s[i] = static_cast<float>(sum);
    s_lo[i] = static_cast<float>(sum - static_cast<double>(s[i]));
  }
  for (int64_t i = 0; i < q; ++i) out[i] = static_cast<float>(sum - sums[i]);
  f.exp(s, q, in);
  f.exp(out, q, out);
  carry = in[q - 1];
}

namespace {

class Forward {
 public:
  Forward(const SsdTable& f, const SsdInputs<float>& in, std::span<const View<float, 3>> states, View<float, 2> y,
          const SsdItems& items)
      : f_(f), in_(in), states_(states), y_(y), z_(items), Pp_(pad16(z_.P)), Np_(pad16(z_.N)) {}

  void operator()(const SsdItem& item) const {
    Arena& scratch = thread_arena();
    Arena::Scope scope(scratch);
    const int64_t begin = in_.offsets[static_cast<size_t>(item.segment)],
                  end = in_.offsets[static_cast<size_t>(item.segment) + 1];
    if (begin == end) return;
    // States whose rows are whole groups of 16 are continued where they lie.
    const bool in_place = !states_.empty() && Pp_ == z_.P;
    View<float, 3> s =
        in_place ? states_[static_cast<size_t>(item.segment)].slice(item.head, item.head + item.heads)
                 : View<float, 3>(scratch.take<float>(item.heads * z_.N * Pp_).data(), {item.heads, z_.N, Pp_});
    if (!in_place) {
      std::fill_n(s.data, s.size(), 0.0f);
      if (!states_.empty()) copy_states(states_[static_cast<size_t>(item.segment)], item.head, s, true);
    }
    Buffers w;
    if (end - begin >= kSsdStepRows) w = buffers(scratch);
    float* deltas = scratch.take<float>(kSsdChunk * item.heads).data();
    for (int64_t t = begin; t < end; t += kSsdChunk) {
      const int64_t q = std::min(kSsdChunk, end - t);
      f_.delta({.dt = in_.dt.row(t) + item.head,
                .dt_row = in_.dt.stride[0],
                .bias = in_.bias.data + item.head,
                .lo = static_cast<float>(in_.dt_min),
                .hi = static_cast<float>(in_.dt_max),
                .rows = q,
                .heads = item.heads,
                .delta = deltas});
      q < kSsdStepRows ? steps(item, t, q, deltas, s) : chunk(item, t, q, deltas, s, w);
    }
    if (!in_place && !states_.empty()) copy_states(states_[static_cast<size_t>(item.segment)], item.head, s, false);
  }

 private:
  struct Buffers {
    float *b = nullptr, *c = nullptr, *bt = nullptr, *cb = nullptr, *m = nullptr, *u = nullptr, *ce = nullptr,
          *y = nullptr;
  };
  Buffers buffers(Arena& a) const {
    auto take = [&](int64_t n) { return a.take<float>(n).data(); };
    return {take(kSsdChunk * Np_),       take(kSsdChunk * Np_), take(z_.N * kSsdChunk), take(kSsdChunk * kSsdChunk),
            take(kSsdChunk * kSsdChunk), take(kSsdChunk * Pp_), take(kSsdChunk * Np_),  take(kSsdChunk * Pp_)};
  }
  float rate(int64_t h) const { return -std::exp(in_.a_log(h)); }

  void copy_states(View<float, 3> outer, int64_t head, View<float, 3> s, bool enter) const {
    for (int64_t h = 0; h < s.shape[0]; ++h)
      for (int64_t n = 0; n < z_.N; ++n) {
        float *out = &outer(head + h, n, 0), *own = &s(h, n, 0);
        std::copy_n(enter ? out : own, z_.P, enter ? own : out);
      }
  }

  void steps(const SsdItem& item, int64_t t, int64_t q, const float* deltas, View<float, 3> s) const {
    for (int64_t h = 0; h < item.heads; ++h) {
      const int64_t head = item.head + h;
      const float a = rate(head);
      for (int64_t i = 0; i < q; ++i) {
        const float delta = deltas[i * item.heads + h];
        f_.step({.s = s.row(h),
                 .s_row = s.stride[1],
                 .n_state = z_.N,
                 .p = z_.P,
                 .decay = std::exp(a * delta),
                 .delta = delta,
                 .x = in_.x.row(t + i) + head * z_.P,
                 .b = in_.b.row(t + i) + item.group * z_.N,
                 .c = in_.c.row(t + i) + item.group * z_.N,
                 .d = in_.d(head),
                 .y = y_.row(t + i) + head * z_.P});
      }
    }
  }

  void chunk(const SsdItem& item, int64_t t, int64_t q, const float* deltas, View<float, 3> s,
             const Buffers& w) const {
    constexpr int64_t Q = kSsdChunk;
    const int64_t N = z_.N, P = z_.P;
    copy_group(f_, in_, item.group, {.t = t, .q = q, .b = w.b, .c = w.c});
    transpose(w.b, Np_, q, N, w.bt);
    product({w.c, Np_, 1, w.bt, Q, w.cb, Q, q, pad16(q), N, false, Band::columns});
    for (int64_t h = 0; h < item.heads; ++h) {
      const int64_t head = item.head + h;
      const float* x = in_.x.row(t) + head * P;
      float* sh = s.row(h);
      SsdChunkRates r;
      r.fill(f_, deltas + h, item.heads, rate(head), q);
      f_.scale_rows(
          {.x = x, .x_row = in_.x.stride[0], .f = r.delta, .rows = q, .n = P, .n_pad = Pp_, .y = w.u, .y_row = Pp_});
      f_.decay(w.cb, r.s, r.s_lo, q, Q, w.m);
      product({w.m, Q, 1, w.u, Pp_, w.y, Pp_, q, Pp_, q, false, Band::past});
      f_.scale_rows({.x = w.c, .x_row = Np_, .f = r.in, .rows = q, .n = N, .n_pad = N, .y = w.ce, .y_row = Np_});
      product({w.ce, Np_, 1, sh, s.stride[1], w.y, Pp_, q, Pp_, N, true});
      f_.blend_rows({.a = w.y,
                     .a_row = Pp_,
                     .b = x,
                     .b_row = in_.x.stride[0],
                     .d = in_.d(head),
                     .rows = q,
                     .n = P,
                     .out = y_.row(t) + head * P,
                     .out_row = y_.stride[0]});
      // The state: every row decays alike; inputs weigh what is left of them at the chunk's end.
      f_.scale_rows({.x = w.u, .x_row = Pp_, .f = r.out, .rows = q, .n = Pp_, .n_pad = Pp_, .y = w.u, .y_row = Pp_});
      for (int64_t n = 0; n < N; n += kStateRows) {
        const int64_t rows = std::min(kStateRows, N - n);
        f_.scale_rows({.x = sh + n * s.stride[1],
                       .x_row = s.stride[1],
                       .f = same(r.carry),
                       .rows = rows,
                       .n = Pp_,
                       .n_pad = Pp_,
                       .y = sh + n * s.stride[1],
                       .y_row = s.stride[1]});
      }
      product({w.b, 1, Np_, w.u, Pp_, sh, s.stride[1], N, Pp_, q, true});
    }
  }

  static constexpr int64_t kStateRows = 16;
  struct Same {
    float v[kStateRows];
    operator const float*() const { return v; }
  };
  static Same same(float x) {
    Same s;
    std::fill_n(s.v, kStateRows, x);
    return s;
  }
  static void transpose(const float* src, int64_t row, int64_t rows, int64_t columns, float* dst) {
    tile_kernels().transpose(reinterpret_cast<const uint32_t*>(src), row, rows, columns,
                             reinterpret_cast<uint32_t*>(dst), kSsdChunk);
  }

  const SsdTable& f_;
  const SsdInputs<float>& in_;
  std::span<const View<float, 3>> states_;
  View<float, 2> y_;
  const SsdItems& z_;
  int64_t Pp_, Np_;
};

}  // namespace

void ssd_fast(const SsdTable& f, const SsdInputs<float>& in, std::span<const View<float, 3>> states, View<float, 2> y,
              Arena&) {
  const SsdItems items(in);
  const Forward run(f, in, states, y, items);
  // One token of Zamba2-2.7B is 1.3 MB of state: worth a second thread. Items of one row each are shares of equal
  // size.
  constexpr int64_t kShare = int64_t{1} << 15;  // state elements a thread gets at least
  const int64_t rows = in.x.shape[0], work = items.P * items.N * kSsdHeadsPerItem *
                                             std::max<int64_t>(1, rows * items.G * items.blocks / items.count());
  if (rows < items.count() * kSsdStepRows)
    parallel_for(items.count(), kShare / work + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) run(items[i]);
    });
  else
    parallel_dynamic(items.count(), [&](int64_t i) { run(items[i]); });
}

}  // namespace quern::kernels
