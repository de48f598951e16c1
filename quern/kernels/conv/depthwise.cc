// Depthwise convolution over threads: output rows are split, weights transposed once per call to [K, C]. Backward: gx
// is the same convolution of gy with the taps reversed (rows near a segment's ends see fewer taps), and gw, gb are
// summed per thread. Cost: forward one read of x and one write of y; backward x and gy twice, gx once.
#include "quern/kernels/conv/conv_fast.h"
#include "quern/kernels/dispatch.h"

namespace quern::kernels {
namespace {

float* transposed(View<const float, 2> w, bool reversed, Arena& arena) {  // [C, K] → [K, C]
  const int64_t channels = w.shape[0], taps = w.shape[1];
  float* out = arena.take<float>(channels * taps).data();
  for (int64_t j = 0; j < taps; ++j)
    for (int64_t c = 0; c < channels; ++c) out[j * channels + c] = w(c, reversed ? taps - 1 - j : j);
  return out;
}

}  // namespace

void depthwise_conv_fast(const ConvTable& f, View<const float, 2> x, View<const float, 2> w, View<const float, 1> b,
                         ConvSpans spans, View<float, 2> y) {
  const int64_t channels = w.shape[0], taps = w.shape[1];
  Arena& arena = thread_arena();
  Arena::Scope scope(arena);
  const float* wt = transposed(w, false, arena);
  auto* body = f.depthwise[stream_stores(y)];
  parallel_for(y.shape[0], grain_rows(channels), [&](int64_t begin, int64_t end) {
    each_run(spans, begin, end, [&](int64_t in, int64_t out, int64_t rows) {
      body({x.row(in), wt, b.data, y.row(out), x.stride[0], channels, y.stride[0], channels, taps, rows});
    });
  });
}

void depthwise_conv_backward_fast(const ConvTable& f, const DepthwiseConvBackwardArgs<float>& a) {
  const int64_t channels = a.w.shape[0], taps = a.w.shape[1];
  Arena& arena = thread_arena();
  Arena::Scope scope(arena);
  const float* wt = transposed(a.w, true, arena);
  auto* body = f.depthwise[stream_stores(a.gx)];
  // Input row u of a segment of n outputs gets Σ_j w_j·gy_{u−j}: rows u−j_max … u−j_min with the reversed taps.
  auto rows_of = [&](size_t s, int64_t from, int64_t to) {
    const int64_t in = a.spans.in_offsets[s], out = a.spans.out_offsets[s], n = a.spans.out_offsets[s + 1] - out;
    for (int64_t u = from; u < to;) {
      const int64_t j_max = std::min(taps - 1, u), j_min = std::max<int64_t>(0, u - n + 1);
      if (j_max < j_min) {  // a segment without outputs
        std::fill_n(a.gx.row(in + u), channels, 0.0f);
        ++u;
        continue;
      }
      const bool inside = j_max == taps - 1 && j_min == 0;
      const int64_t rows = inside ? std::min(to, n) - u : 1;
      body({a.gy.row(out + u - j_max), wt + (taps - 1 - j_max) * channels, nullptr, a.gx.row(in + u), a.gy.stride[0],
            channels, a.gx.stride[0], channels, j_max - j_min + 1, rows});
      u += rows;
    }
  };
  parallel_for(a.gx.shape[0], grain_rows(channels), [&](int64_t begin, int64_t end) {
    for (size_t s = 0; s + 1 < a.spans.in_offsets.size(); ++s) {
      const int64_t in = a.spans.in_offsets[s];
      rows_of(s, std::max<int64_t>(0, begin - in), std::min<int64_t>(end, a.spans.in_offsets[s + 1]) - in);
    }
  });
  if (!a.gw && !a.gb) return;
  View<float, 1> sums(a.gw ? arena.take<float>(taps * channels).data() : nullptr, {taps * channels});
  if (a.gw) std::fill_n(sums.data, sums.shape[0], 0.0f);
  parallel_sums(a.gy.shape[0], grain_rows(channels), std::array{sums, a.gb},
                [&](int64_t begin, int64_t end, auto partial) {
                  each_run(a.spans, begin, end, [&](int64_t in, int64_t out, int64_t rows) {
                    f.depthwise_gradient({a.x.row(in), a.gy.row(out), partial[0], partial[1], a.x.stride[0],
                                          a.gy.stride[0], channels, taps, rows});
                  });
                });
  for (int64_t c = 0; a.gw && c < channels; ++c)
    for (int64_t j = 0; j < taps; ++j) a.gw(c, j) += sums(j * channels + c);
}

}  // namespace quern::kernels
