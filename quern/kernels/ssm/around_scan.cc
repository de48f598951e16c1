// Entry points of the gated norm and of the causal convolution: checks, dispatch, rows over threads.
#include "quern/kernels/ssm/gated_norm.h"

#include <array>

#include "quern/base/error.h"
#include "quern/kernels/dispatch.h"
#include "quern/kernels/ssm/ssm_ref.h"
#include "quern/kernels/ssm/ssm_simd.h"

namespace quern::kernels {
namespace {

const SsmTable* table() { return fast_table(ssm_avx2, ssm_avx512); }

template <class T>
void check(const CausalConvInputs<T>& in) {
  QUERN_CHECK(in.w.contiguous() && in.w.shape[0] >= 1 && in.w.shape[0] <= kConvTaps &&
                  in.w.shape[1] == in.x.shape[1] && (!in.b || in.b.shape[0] == in.x.shape[1]),
              "w [{}, {}], x [{}, {}]", in.w.shape[0], in.w.shape[1], in.x.shape[0], in.x.shape[1]);
  QUERN_CHECK(!in.offsets.empty() && in.offsets[0] == 0 && in.offsets.back() == in.x.shape[0]);
}

// f(segment, first row of the segment, rows [begin, end) counted inside it) for the part in rows [from, to).
template <class F>
void each_piece(std::span<const int32_t> offsets, int64_t from, int64_t to, F&& f) {
  for (size_t s = 0; s + 1 < offsets.size(); ++s) {
    const int64_t first = offsets[s], begin = std::max<int64_t>(from, first),
                  end = std::min<int64_t>(to, offsets[s + 1]);
    if (begin < end) f(s, first, begin - first, end - first);
  }
}

ConvRows conv_rows_of(const CausalConvInputs<float>& in, int64_t first, View<float, 2> y) {
  return {.x = in.x.row(first),
          .w = in.w.data,
          .b = in.b.data,
          .tail = nullptr,
          .y = y.row(first),
          .x_row = in.x.stride[0],
          .y_row = y.stride[0],
          .tail_row = 0,
          .channels = in.x.shape[1],
          .taps = in.w.shape[0]};
}

// tail ← the last rows of [tail ‖ the segment's x].
template <class T>
void roll(View<T, 2> tail, View<const T, 2> x) {
  const int64_t keep = tail.shape[0], n = x.shape[0], C = tail.shape[1];
  for (int64_t r = 0; r < keep - n; ++r) std::copy_n(tail.row(r + n), C, tail.row(r));
  for (int64_t r = std::max<int64_t>(0, keep - n); r < keep; ++r) std::copy_n(x.row(n - keep + r), C, tail.row(r));
}

}  // namespace

template <class T>
void gated_rms_norm(View<const T, 2> y, View<const T, 2> z, View<const T, 1> w, int64_t groups, double eps,
                    View<T, 2> out) {
  QUERN_CHECK(y.shape == z.shape && y.shape == out.shape && w.shape[0] == y.shape[1] && y.shape[1] % groups == 0);
  if constexpr (std::is_same_v<T, float>) {
    if (const SsmTable* f = table()) {
      const GatedNormRows a{y.data,      z.data,
                            w.data,      nullptr,
                            out.data,    nullptr,
                            y.stride[0], z.stride[0],
                            0,           out.stride[0],
                            0,           y.shape[1] / groups,
                            groups,      static_cast<float>(eps)};
      parallel_for(y.shape[0], grain_rows(y.shape[1]),
                   [&](int64_t begin, int64_t end) { f->gated_norm(a, begin, end); });
      return;
    }
  }
  gated_rms_norm_ref(y, z, w, groups, eps, out);
}

template <class T>
void gated_rms_norm_backward(const GatedRmsNormBackwardArgs<T>& args) {
  QUERN_CHECK(args.y.shape == args.z.shape && args.y.shape == args.g_out.shape && args.y.shape == args.gy.shape &&
              args.y.shape == args.gz.shape && args.w.shape[0] == args.y.shape[1] &&
              args.y.shape[1] % args.groups == 0);
  if constexpr (std::is_same_v<T, float>) {
    if (const SsmTable* f = table()) {
      const GatedNormRows a{args.y.data,          args.z.data,
                            args.w.data,          args.g_out.data,
                            args.gy.data,         args.gz.data,
                            args.y.stride[0],     args.z.stride[0],
                            args.g_out.stride[0], args.gy.stride[0],
                            args.gz.stride[0],    args.y.shape[1] / args.groups,
                            args.groups,          static_cast<float>(args.eps)};
      parallel_sums(args.y.shape[0], grain_rows(args.y.shape[1]), std::array{args.gw},
                    [&](int64_t begin, int64_t end, auto sums) { f->gated_norm_backward(a, sums[0], begin, end); });
      return;
    }
  }
  gated_rms_norm_backward_ref(args);
}

template <class T>
void causal_conv_silu(const CausalConvInputs<T>& in, std::span<const View<T, 2>> tails, View<T, 2> y) {
  check(in);
  QUERN_CHECK(y.shape == in.x.shape && (tails.empty() || tails.size() + 1 == in.offsets.size()));
  for (const View<T, 2>& t : tails) QUERN_CHECK(t.shape[0] == in.w.shape[0] - 1 && t.shape[1] == in.x.shape[1]);
  auto run = [&] {
    if constexpr (std::is_same_v<T, float>) {
      if (const SsmTable* f = table()) {
        parallel_for(in.x.shape[0], grain_rows(in.x.shape[1]), [&](int64_t from, int64_t to) {
          each_piece(in.offsets, from, to, [&](size_t s, int64_t first, int64_t begin, int64_t end) {
            ConvRows a = conv_rows_of(in, first, y);
            if (!tails.empty()) a.tail = tails[s].data, a.tail_row = tails[s].stride[0];
            f->conv(a, begin, end);
          });
        });
        return;
      }
    }
    causal_conv_silu_ref(in, tails, y);
  };
  run();
  for (size_t s = 0; s < tails.size(); ++s) roll<T>(tails[s], in.x.slice(in.offsets[s], in.offsets[s + 1]));
}

template <class T>
void causal_conv_silu_backward(const CausalConvInputs<T>& in, View<const T, 2> gy, View<T, 2> gx, View<T, 2> gw,
                               View<T, 1> gb, [[maybe_unused]] Arena& scratch) {
  check(in);
  QUERN_CHECK(gy.shape == in.x.shape && gx.shape == in.x.shape &&
              (!gw || (gw.contiguous() && gw.shape == in.w.shape)));
  if constexpr (std::is_same_v<T, float>) {
    if (const SsmTable* f = table()) {
      Arena::Scope scope(scratch);
      const int64_t C = in.x.shape[1], grain = grain_rows(C);
      View<float, 2> dv(scratch.take<float>(in.x.shape[0] * C).data(), {in.x.shape[0], C});
      const View<float, 1> flat = gw ? View<float, 1>(gw.data, {gw.size()}) : View<float, 1>();
      parallel_sums(in.x.shape[0], grain, std::array{flat, gb}, [&](int64_t from, int64_t to, auto sums) {
        each_piece(in.offsets, from, to, [&](size_t, int64_t first, int64_t begin, int64_t end) {
          f->conv_slope(conv_rows_of(in, first, dv),
                        {.gy = gy.row(first), .gy_row = gy.stride[0], .gw = sums[0], .gb = sums[1]}, begin, end);
        });
      });
      parallel_for(in.x.shape[0], grain, [&](int64_t from, int64_t to) {
        each_piece(in.offsets, from, to, [&](size_t s, int64_t first, int64_t begin, int64_t end) {
          ConvRows a = conv_rows_of(in, first, gx);
          a.x = dv.row(first), a.x_row = C;
          f->conv_input(a, in.offsets[s + 1] - first, begin, end);
        });
      });
      return;
    }
  }
  causal_conv_silu_backward_ref(in, gy, gx, gw, gb);
}

#define QUERN_INSTANTIATE(T)                                                                                       \
  template void gated_rms_norm<T>(View<const T, 2>, View<const T, 2>, View<const T, 1>, int64_t, double,           \
                                  View<T, 2>);                                                                     \
  template void gated_rms_norm_backward<T>(const GatedRmsNormBackwardArgs<T>&);                                    \
  template void causal_conv_silu<T>(const CausalConvInputs<T>&, std::span<const View<T, 2>>, View<T, 2>);          \
  template void causal_conv_silu_backward<T>(const CausalConvInputs<T>&, View<const T, 2>, View<T, 2>, View<T, 2>, \
                                             View<T, 1>, Arena&);
QUERN_INSTANTIATE(float)
QUERN_INSTANTIATE(double)
#undef QUERN_INSTANTIATE

}  // namespace quern::kernels
