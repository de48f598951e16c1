// The fused path. Every step calls the existing kernel on one tile: nothing is defined twice.
#include "quern/kernels/cca/cca.h"

#include <algorithm>
#include <array>

#include "quern/base/error.h"
#include "quern/base/threads.h"
#include "quern/kernels/conv/conv.h"
#include "quern/kernels/norm/norm.h"

namespace quern::kernels {
namespace {

// 192 rows × (128 in + 128 u + 128 out) floats are 288 KiB: inside a second-level cache of 1 MiB beside the head's
// 128 KiB of packed weights, and as many rows as a packed product takes at a time.
constexpr int64_t kTileTokens = 192;

struct Tile {
  int64_t segment, begin, end;  // token rows
};

std::vector<Tile> tiles_of(std::span<const int32_t> offsets) {
  std::vector<Tile> tiles;
  for (size_t s = 0; s + 1 < offsets.size(); ++s)
    for (int64_t t = offsets[s]; t < offsets[s + 1]; t += kTileTokens)
      tiles.push_back({static_cast<int64_t>(s), t, std::min<int64_t>(offsets[s + 1], t + kTileTokens)});
  return tiles;
}

template <class T>
View<T, 2> columns(View<T, 2> v, int64_t first, int64_t count) {
  v.data += first, v.shape[1] = count;
  return v;
}

struct Job {
  const CcaLatentShape& s;
  const CcaLatentWeights& w;
  const CcaLatent& a;
  int64_t t0, t1, history;

  void operator()(const Tile& tile, int64_t head) const {
    Arena& scratch = thread_arena();
    Arena::Scope scope(scratch);
    const int64_t d = s.head_dim, rows = tile.end - tile.begin, first = head * d;
    View<const float, 2> out = convolve(z_rows(tile, first, scratch), rows, head, scratch);
    if (s.qk_mean) out = with_mean(out, tile, head, scratch);
    const bool query = head < s.n_head;
    View<float, 3> to = query ? a.q.slice(tile.begin, tile.end) : a.k.slice(tile.begin, tile.end);
    const int64_t own = query ? head : head - s.n_head;
    to.data += own * to.stride[1], to.shape[1] = 1;
    View<const float, 1> temperature;
    if (!query && w.temperature) temperature = {w.temperature.data + own, {1}};
    l2_norm<float>({out.data, {rows, 1, d}, {out.stride[0], d, 1}}, temperature, s.scale, s.l2_eps, to, {});
    if (a.cos)
      rope<float>(to, a.cos.slice(tile.begin, tile.end), a.sin.slice(tile.begin, tile.end), s.pairing,
                  RopeTurn::forward, to);
  }

  // This head's columns of the tile's rows with `history` older ones in front.
  View<const float, 2> z_rows(const Tile& tile, int64_t first, Arena& scratch) const {
    const int64_t d = s.head_dim, from = tile.begin - history, start = a.offsets[static_cast<size_t>(tile.segment)];
    if (from >= start) return columns(a.z.slice(from, tile.end), first, d);
    View<float, 2> rows(scratch.take<float>((tile.end - from) * d).data(), {tile.end - from, d});
    for (int64_t r = 0; r < rows.shape[0]; ++r) {
      const int64_t before = start - (from + r);  // > 0: so many rows before the segment
      if (before <= 0)
        std::copy_n(a.z.row(from + r) + first, d, rows.row(r));
      else if (a.history.empty())
        std::fill_n(rows.row(r), d, 0.0f);
      else
        std::copy_n(a.history[static_cast<size_t>(tile.segment)].row(history - before) + first, d, rows.row(r));
    }
    return rows;
  }

  View<const float, 2> convolve(View<const float, 2> z, int64_t rows, int64_t head, Arena& scratch) const {
    const int64_t d = s.head_dim, first = head * d;
    auto bias = [&](View<const float, 1> b) { return b ? View<const float, 1>(b.data + first, {d}) : b; };
    View<const float, 2> u = z;
    if (t0 > 0) {
      const int64_t n = z.shape[0] - (t0 - 1);
      View<float, 2> y(scratch.take<float>(n * d).data(), {n, d});
      const std::array<int32_t, 2> in{0, static_cast<int32_t>(z.shape[0])}, out{0, static_cast<int32_t>(n)};
      depthwise_conv<float>(z, w.depthwise.slice(first, first + d), bias(w.depthwise_bias), {in, out}, y);
      u = y;
    }
    if (t1 == 0) return u;
    if (u.stride[0] != d) {  // straight from z: windows must lie in one stretch
      View<float, 2> y(scratch.take<float>(u.shape[0] * d).data(), {u.shape[0], d});
      for (int64_t r = 0; r < u.shape[0]; ++r) std::copy_n(u.row(r), d, y.row(r));
      u = y;
    }
    View<float, 2> y(scratch.take<float>(rows * d).data(), {rows, d});
    w.grouped[static_cast<size_t>(head)].apply({u.data, {rows, t1 * d}, {d, 1}}, bias(w.grouped_bias), y, scratch);
    return y;
  }

  View<const float, 2> with_mean(View<const float, 2> y, const Tile& tile, int64_t head, Arena& scratch) const {
    const int64_t d = s.head_dim, group = s.n_head / s.n_head_kv, n_head = s.n_head;
    View<float, 2> sum(scratch.take<float>(y.shape[0] * d).data(), {y.shape[0], d});
    const int64_t kv = head < n_head ? head / group : head - n_head;
    const int64_t q0 = head < n_head ? head : kv * group, q1 = head < n_head ? head + 1 : q0 + group;
    const float share = 0.5f / static_cast<float>(q1 - q0);
    for (int64_t r = 0; r < y.shape[0]; ++r) {
      const float *z = a.z.row(tile.begin + r), *k = z + (n_head + kv) * d, *in = y.row(r);
      float* to = sum.row(r);
#pragma omp simd
      for (int64_t i = 0; i < d; ++i) to[i] = in[i] + 0.5f * k[i];
      for (int64_t h = q0; h < q1; ++h) {
        const float* q = z + h * d;
#pragma omp simd
        for (int64_t i = 0; i < d; ++i) to[i] += share * q[i];
      }
    }
    return sum;
  }
};

}  // namespace

std::vector<PackedLinear> cca_pack_grouped(View<const float, 3> w) {
  const int64_t d = w.shape[1], taps = w.shape[2];
  std::vector<PackedLinear> packed;
  for (int64_t first = 0; first < w.shape[0]; first += d) {
    Tensor outer = Tensor::empty({d, taps * d}, DType::f32);
    for (int64_t o = 0; o < d; ++o)
      for (int64_t i = 0; i < d; ++i)
        for (int64_t j = 0; j < taps; ++j) outer.data<float>()[(o * taps + j) * d + i] = w(first + o, i, j);
    packed.push_back(PackedLinear::pack(outer, DType::f32));
  }
  return packed;
}

void cca_latent(const CcaLatentShape& s, const CcaLatentWeights& w, const CcaLatent& a) {
  const int64_t heads = s.n_head + s.n_head_kv, d = s.head_dim;
  const int64_t t0 = w.depthwise ? w.depthwise.shape[1] : 0, t1 = w.grouped.empty() ? 0 : w.grouped[0].k() / d;
  QUERN_CHECK(a.z.shape[1] == heads * d && a.offsets.back() == a.z.shape[0],
              "z [{}, {}], {} heads of {}, {} rows in segments", a.z.shape[0], a.z.shape[1], heads, d,
              a.offsets.back());
  QUERN_CHECK(a.history.empty() || a.history.size() + 1 == a.offsets.size());
  const Job job{s, w, a, t0, t1, std::max<int64_t>(t0 - 1, 0) + std::max<int64_t>(t1 - 1, 0)};
  const std::vector<Tile> tiles = tiles_of(a.offsets);
  const int64_t items = static_cast<int64_t>(tiles.size()) * heads;
  auto run = [&](int64_t i) { job(tiles[static_cast<size_t>(i / heads)], i % heads); };
  // Few tokens: equal shares of heads, and no second thread for less than it costs to wake it (one ZAYA1 token, dot
  // products over 1.3 MB of weights, still takes two). Many: handed out one by one.
  constexpr int64_t kShare = int64_t{1} << 17, kMany = int64_t{1} << 23;  // multiply-adds
  const int64_t work = std::clamp<int64_t>(a.z.shape[0], 1, kTileTokens) * d * (1 + t0 + t1 * d);
  if (work * items < kMany)
    parallel_for(items, kShare / work + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) run(i);
    });
  else
    parallel_dynamic(items, run);
}

}  // namespace quern::kernels
