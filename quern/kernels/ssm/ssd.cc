// Entry points of SSD: checks of shapes and offsets, and dispatch.
#include "quern/kernels/ssm/ssd.h"

#include "quern/base/error.h"
#include "quern/kernels/dispatch.h"
#include "quern/kernels/ssm/ssd_chunk.h"
#include "quern/kernels/ssm/ssm_ref.h"

namespace quern::kernels {
namespace {

template <class T>
void check(const SsdInputs<T>& in) {
  const int64_t rows = in.x.shape[0], H = in.heads();
  QUERN_CHECK(H >= 1 && in.n_group >= 1 && H % in.n_group == 0 && in.x.shape[1] % H == 0 &&
                  in.b.shape[1] % in.n_group == 0 && in.b.shape == in.c.shape,
              "{} heads, {} groups, x [{}, {}], b [{}, {}]", H, in.n_group, rows, in.x.shape[1], in.b.shape[0],
              in.b.shape[1]);
  QUERN_CHECK(in.b.shape[0] == rows && in.dt.shape[0] == rows && in.a_log.shape[0] == H && in.d.shape[0] == H &&
              in.bias.shape[0] == H);
  QUERN_CHECK(!in.offsets.empty() && in.offsets[0] == 0 && in.offsets.back() == rows, "offsets end at {}, rows {}",
              in.offsets.back(), rows);
}

}  // namespace

template <class T>
void ssd(const SsdInputs<T>& in, std::span<const View<T, 3>> states, View<T, 2> y, Arena& scratch) {
  check(in);
  QUERN_CHECK(y.shape == in.x.shape && (states.empty() || states.size() + 1 == in.offsets.size()));
  for (const View<T, 3>& s : states)
    QUERN_CHECK(s.contiguous() && s.shape[0] == in.heads() && s.shape[1] == in.n_state() &&
                s.shape[2] == in.head_dim());
  if constexpr (std::is_same_v<T, float>)
    if (const SsdTable* f = fast_table(ssd_avx2, ssd_avx512)) return ssd_fast(*f, in, states, y, scratch);
  ssd_ref(in, states, y, scratch);
}

template <class T>
void ssd_backward(const SsdInputs<T>& in, View<const T, 2> gy, SsdGrads<T> grads, Arena& scratch) {
  check(in);
  QUERN_CHECK(gy.shape == in.x.shape && grads.gx.shape == in.x.shape && grads.gb.shape == in.b.shape &&
              grads.gc.shape == in.c.shape && grads.gdt.shape == in.dt.shape);
  if constexpr (std::is_same_v<T, float>)
    if (const SsdTable* f = fast_table(ssd_avx2, ssd_avx512)) return ssd_backward_fast(*f, in, gy, grads, scratch);
  ssd_backward_ref(in, gy, grads, scratch);
}

#define QUERN_INSTANTIATE(T)                                                                  \
  template void ssd<T>(const SsdInputs<T>&, std::span<const View<T, 3>>, View<T, 2>, Arena&); \
  template void ssd_backward<T>(const SsdInputs<T>&, View<const T, 2>, SsdGrads<T>, Arena&);
QUERN_INSTANTIATE(float)
QUERN_INSTANTIATE(double)
#undef QUERN_INSTANTIATE

}  // namespace quern::kernels
