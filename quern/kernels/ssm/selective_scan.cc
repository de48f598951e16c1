// Entry points of the selective scan: checks, dispatch, and blocks of channels over threads.
#include "quern/kernels/ssm/selective_scan.h"

#include "quern/base/error.h"
#include "quern/kernels/dispatch.h"
#include "quern/kernels/ssm/ssm_ref.h"
#include "quern/kernels/ssm/ssm_simd.h"

namespace quern::kernels {
namespace {

const SsmTable* table() { return fast_table(ssm_avx2, ssm_avx512); }

template <class T>
void check(const ScanInputs<T>& in) {
  const int64_t rows = in.x.shape[0], D = in.x.shape[1], N = in.a.shape[0];
  QUERN_CHECK(N >= 1 && N <= kScanStates, "{} states, at most {}", N, kScanStates);
  QUERN_CHECK(in.a.contiguous() && in.a.shape[1] == D && in.dt.shape == in.x.shape &&
              (!in.z || in.z.shape == in.x.shape) && in.b.shape[0] == rows && in.b.shape[1] == N &&
              in.c.shape == in.b.shape && in.d.shape[0] == D && in.bias.shape[0] == D);
  QUERN_CHECK(!in.offsets.empty() && in.offsets[0] == 0 && in.offsets.back() == rows, "offsets end at {}, rows {}",
              in.offsets.back(), rows);
}

// Channels [c, c + lanes) of the segment whose rows begin at t.
ScanRowBlock row_block_of(const ScanInputs<float>& in, int64_t t, int64_t rows, int64_t c, int64_t lanes) {
  return {.x = in.x.row(t) + c,
          .dt = in.dt.row(t) + c,
          .z = in.z ? in.z.row(t) + c : nullptr,
          .b = in.b.row(t),
          .c = in.c.row(t),
          .a = in.a.data + c,
          .d = in.d.data + c,
          .bias = in.bias.data + c,
          .x_row = in.x.stride[0],
          .dt_row = in.dt.stride[0],
          .z_row = in.z ? in.z.stride[0] : 0,
          .b_row = in.b.stride[0],
          .c_row = in.c.stride[0],
          .a_row = in.a.stride[0],
          .state = nullptr,
          .state_row = 0,
          .y = nullptr,
          .y_row = 0,
          .rows = rows,
          .n_state = in.a.shape[0],
          .channels = std::min(lanes, in.x.shape[1] - c)};
}

void scan_fast(const SsmTable& f, const ScanInputs<float>& in, std::span<const View<float, 2>> states,
               View<float, 2> y) {
  const int64_t row_blocks = (in.x.shape[1] + f.lanes - 1) / f.lanes,
                segments = static_cast<int64_t>(in.offsets.size()) - 1;
  const int64_t work = f.lanes * in.a.shape[0] * std::max<int64_t>(1, in.x.shape[0] / std::max<int64_t>(1, segments));
  parallel_for(segments * row_blocks, kGrainElements / 4 / work + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const size_t s = static_cast<size_t>(i / row_blocks);
      const int64_t c = i % row_blocks * f.lanes, t = in.offsets[s];
      ScanRowBlock a = row_block_of(in, t, in.offsets[s + 1] - t, c, f.lanes);
      if (a.rows == 0) continue;
      a.y = y.row(t) + c, a.y_row = y.stride[0];
      if (!states.empty()) a.state = states[s].data + c, a.state_row = states[s].stride[0];
      f.scan(a);
    }
  });
}

void scan_backward_fast(const SsmTable& f, const ScanInputs<float>& in, View<const float, 2> gy,
                        const ScanGrads<float>& o, Arena& scratch) {
  Arena::Scope scope(scratch);
  const int64_t T = in.x.shape[0], N = in.a.shape[0], one = N * f.lanes;
  const int64_t row_blocks = (in.x.shape[1] + f.lanes - 1) / f.lanes;
  const int64_t parts = std::min<int64_t>(row_blocks, thread_count()),
                kept = (T / kScanBlock + 2 + kScanBlock + 1) * one;
  // Every part sums ∂B and ∂C of its channels lane by lane; lanes and parts are added at the end, in order.
  float* lanes = scratch.take<float>(parts * 2 * T * one).data();
  float* room = scratch.take<float>(parts * kept).data();
  parallel_for(parts, 1, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p) {
      float *lb = lanes + 2 * p * T * one, *lc = lb + T * one;
      std::fill_n(lb, 2 * T * one, 0.0f);
      for (int64_t k = row_blocks * p / parts; k < row_blocks * (p + 1) / parts; ++k)
        for (size_t s = 0; s + 1 < in.offsets.size(); ++s) {
          const int64_t c = k * f.lanes, t = in.offsets[s], n = in.offsets[s + 1] - t;
          if (n == 0) continue;
          f.scan_backward(row_block_of(in, t, n, c, f.lanes), {.gy = gy.row(t) + c,
                                                               .gy_row = gy.stride[0],
                                                               .gx = o.gx.row(t) + c,
                                                               .gdt = o.gdt.row(t) + c,
                                                               .gz = in.z ? o.gz.row(t) + c : nullptr,
                                                               .gx_row = o.gx.stride[0],
                                                               .gdt_row = o.gdt.stride[0],
                                                               .gz_row = in.z ? o.gz.stride[0] : 0,
                                                               .lanes_b = lb + t * one,
                                                               .lanes_c = lc + t * one,
                                                               .ga = o.ga ? o.ga.data + c : nullptr,
                                                               .gd = o.gd ? o.gd.data + c : nullptr,
                                                               .gbias = o.gbias ? o.gbias.data + c : nullptr,
                                                               .ga_row = o.ga ? o.ga.stride[0] : 0,
                                                               .kept = room + p * kept});
        }
    }
  });
  parallel_for(T, 64, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t)
      for (int64_t n = 0; n < N; ++n)
        for (int64_t which = 0; which < 2; ++which) {
          float sum = 0;
          for (int64_t p = 0; p < parts; ++p)
            for (int64_t l = 0; l < f.lanes; ++l) sum += lanes[((2 * p + which) * T + t) * one + n * f.lanes + l];
          (which == 0 ? o.gb : o.gc)(t, n) = sum;
        }
  });
}

}  // namespace

template <class T>
void selective_scan(const ScanInputs<T>& in, std::span<const View<T, 2>> states, View<T, 2> y, Arena& scratch) {
  check(in);
  QUERN_CHECK(y.shape == in.x.shape && (states.empty() || states.size() + 1 == in.offsets.size()));
  if constexpr (std::is_same_v<T, float>)
    if (const SsmTable* f = table()) return scan_fast(*f, in, states, y);
  selective_scan_ref(in, states, y, scratch);
}

template <class T>
void selective_scan_backward(const ScanInputs<T>& in, View<const T, 2> gy, ScanGrads<T> grads, Arena& scratch) {
  check(in);
  QUERN_CHECK(gy.shape == in.x.shape && grads.gx.shape == in.x.shape && grads.gdt.shape == in.x.shape &&
              grads.gb.shape == in.b.shape && grads.gc.shape == in.b.shape &&
              (!in.z || grads.gz.shape == in.x.shape));
  if constexpr (std::is_same_v<T, float>)
    if (const SsmTable* f = table()) return scan_backward_fast(*f, in, gy, grads, scratch);
  selective_scan_backward_ref(in, gy, grads, scratch);
}

#define QUERN_INSTANTIATE(T)                                                                              \
  template void selective_scan<T>(const ScanInputs<T>&, std::span<const View<T, 2>>, View<T, 2>, Arena&); \
  template void selective_scan_backward<T>(const ScanInputs<T>&, View<const T, 2>, ScanGrads<T>, Arena&);
QUERN_INSTANTIATE(float)
QUERN_INSTANTIATE(double)
#undef QUERN_INSTANTIATE

}  // namespace quern::kernels
