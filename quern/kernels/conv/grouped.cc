// Grouped convolution as matrix products over concatenated taps. With u_t[i·K + j] = x_{t+j}[i] (each channel's taps
// side by side) the weights need no reordering: W[o, :, :] of one output is one contiguous row of n·K numbers, and per
// group
//   y = u·Wᵀ,   g_u = gy·W,   gW += gyᵀ·u,   gx_{t+j}[i] += g_u[t, i·K + j].
#include "quern/kernels/conv/conv_fast.h"
#include "quern/kernels/dispatch.h"
#include "quern/kernels/gemm/gemm.h"

namespace quern::kernels {
namespace {

constexpr int64_t kChunkFloats = int64_t{1} << 20;  // u of a chunk: 4 MiB, between the second and the third cache
constexpr int64_t kDotTokens = 4;                   // up to here each weight is still read once
constexpr int64_t kDotOutputs = 8;                  // a product narrower than this wastes most of its registers

struct Shape {
  int64_t groups, per_in, per_out, taps;
  explicit Shape(View<const float, 3> w, int64_t g)
      : groups(g), per_in(w.shape[1]), per_out(w.shape[0] / g), taps(w.shape[2]) {}
  int64_t group_width() const { return per_in * taps; }
  int64_t width() const { return groups * group_width(); }
  int64_t chunk() const { return std::max<int64_t>(kDotTokens, kChunkFloats / width()); }
};

// u of output rows [begin, end).
void gather_taps(const ConvTable& f, View<const float, 2> x, const Shape& s, const ConvSpans& spans, int64_t begin,
                 int64_t end, View<float, 2> u) {
  const int64_t channels = s.groups * s.per_in;
  parallel_for(end - begin, grain_rows(s.width()), [&](int64_t from, int64_t to) {
    each_run(spans, begin + from, begin + to, [&](int64_t in, int64_t out, int64_t rows) {
      for (int64_t r = 0; r < rows; ++r) {
        float* dst = u.row(out + r - begin);
        if (s.taps == 2) {
          f.interleave2(x.row(in + r), x.row(in + r + 1), channels, dst);
          continue;
        }
        for (int64_t j = 0; j < s.taps; ++j) {
          const float* src = x.row(in + r + j);
          for (int64_t c = 0; c < channels; ++c) dst[c * s.taps + j] = src[c];
        }
      }
    });
  });
}

View<float, 2> columns(View<float, 2> v, int64_t first, int64_t count) {
  v.data += first, v.shape[1] = count;
  return v;
}
View<const float, 2> columns(View<const float, 2> v, int64_t first, int64_t count) {
  v.data += first, v.shape[1] = count;
  return v;
}

}  // namespace

void grouped_conv_fast(const ConvTable& f, const GroupedConvArgs<float>& a, Arena& scratch) {
  const Shape s(a.w, a.groups);
  const int64_t gw = s.group_width(), chunk = std::min(s.chunk(), a.y.shape[0]);
  const bool dots = a.y.shape[0] <= kDotTokens || s.per_out < kDotOutputs;
  Arena::Scope scope(scratch);
  float* buffer = scratch.take<float>(chunk * s.width()).data();
  for (int64_t begin = 0; begin < a.y.shape[0]; begin += chunk) {
    const int64_t end = std::min(a.y.shape[0], begin + chunk), rows = end - begin;
    View<float, 2> u(buffer, {rows, s.width()});
    gather_taps(f, a.x, s, a.spans, begin, end, u);
    View<float, 2> out = a.y.slice(begin, end);
    if (dots) {
      parallel_for(a.groups, kGrainElements / (s.per_out * gw * rows) + 1, [&](int64_t g0, int64_t g1) {
        for (int64_t g = g0; g < g1; ++g)
          f.dot({u.data + g * gw, a.w.row(g * s.per_out), a.b ? a.b.data + g * s.per_out : nullptr,
                 out.data + g * s.per_out, u.stride[0], out.stride[0], gw, s.per_out, rows});
      });
      continue;
    }
    for (int64_t r = 0; r < rows; ++r)
      if (a.b) std::copy_n(a.b.data, a.y.shape[1], out.row(r));
    for (int64_t g = 0; g < a.groups; ++g)
      gemm<float>(columns(View<const float, 2>(u), g * gw, gw), {a.w.row(g * s.per_out), {s.per_out, gw}},
                  columns(out, g * s.per_out, s.per_out), {.trans_b = true, .beta = a.b ? 1.0 : 0.0});
  }
}

void grouped_conv_backward_fast(const ConvTable& f, const GroupedConvBackwardArgs<float>& a, Arena& scratch) {
  const Shape s(a.w, a.groups);
  const int64_t width = s.group_width(), channels = a.groups * s.per_in, chunk = std::min(s.chunk(), a.gy.shape[0]);
  for (int64_t t = 0; t < a.gx.shape[0]; ++t) std::fill_n(a.gx.row(t), channels, 0.0f);
  Arena::Scope scope(scratch);
  float* buffer = scratch.take<float>(chunk * s.width()).data();
  for (int64_t begin = 0; begin < a.gy.shape[0]; begin += chunk) {
    const int64_t end = std::min(a.gy.shape[0], begin + chunk);
    View<float, 2> u(buffer, {end - begin, s.width()});
    const View<const float, 2> g_rows = a.gy.slice(begin, end);
    if (a.gw) {
      gather_taps(f, a.x, s, a.spans, begin, end, u);
      for (int64_t g = 0; g < a.groups; ++g)
        gemm<float>(columns(g_rows, g * s.per_out, s.per_out), columns(View<const float, 2>(u), g * width, width),
                    {a.gw.row(g * s.per_out), {s.per_out, width}}, {.trans_a = true, .beta = 1});
    }
    for (int64_t g = 0; g < a.groups; ++g)
      gemm<float>(columns(g_rows, g * s.per_out, s.per_out), {a.w.row(g * s.per_out), {s.per_out, width}},
                  columns(u, g * width, width));
    // Threads split channels, for neighboring tokens add to the same rows of gx.
    parallel_for(channels, kGrainElements / (end - begin) + 1, [&](int64_t c0, int64_t c1) {
      each_run(a.spans, begin, end, [&](int64_t in, int64_t out, int64_t rows) {
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t j = 0; j < s.taps; ++j) {
            const float* src = u.row(out + r - begin) + j;
            float* dst = a.gx.row(in + r + j);
            for (int64_t c = c0; c < c1; ++c) dst[c] += src[c * s.taps];
          }
      });
    });
  }
  if (!a.gb) return;
  parallel_for(a.gb.shape[0], kGrainElements / std::max<int64_t>(1, a.gy.shape[0]) + 1, [&](int64_t c0, int64_t c1) {
    for (int64_t t = 0; t < a.gy.shape[0]; ++t) {
      const float* src = a.gy.row(t);
#pragma omp simd
      for (int64_t c = c0; c < c1; ++c) a.gb.data[c] += src[c];
    }
  });
}

}  // namespace quern::kernels
