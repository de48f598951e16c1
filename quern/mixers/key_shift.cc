#include "quern/mixers/key_shift.h"

#include <cmath>

#include "quern/mixers/ssm_state.h"
#include "quern/nn/dispatch.h"
#include "quern/trace/trace.h"

namespace quern::mixers {
namespace {

constexpr const char* kShift = "shift";  // the part of the state

}  // namespace

StatePart key_shift_part(int64_t channels, DType kv) {
  return {.name = kShift, .shape = {channels}, .dtype = ssm_state_dtype(kv), .snapshots_inside = true};
}

grad::Var key_shift(grad::Tape& tape, const grad::Var& k_TC, grad::Parameter& mu_C, const Batch& batch, int site) {
  const trace::Span span(trace::Kind::operation, "key shift");
  const grad::Var mu = tape.param(mu_C);
  const Tensor k = k_TC.value, m = mu.value, y = Tensor::empty(k.shape(), k.dtype());
  const int64_t C = k.dim(1);
  return nn::with_float(k.dtype(), [&]<class T>() {
    std::vector<T> w(static_cast<size_t>(C));
    for (int64_t c = 0; c < C; ++c) w[static_cast<size_t>(c)] = 1 / (1 + std::exp(-m.data<T>()[c]));
    snapshot_tails(batch, site, kShift, k);
    SsmStates<T, 1> last(batch, site, kShift, k.dtype());
    const auto kv = k.view<const T, 2>();
    const auto yv = y.view<T, 2>();
    for (int64_t s = 0; s < batch.segments(); ++s) {
      const int64_t begin = batch.offsets[s], end = batch.offsets[s + 1];
      for (int64_t t = begin; t < end; ++t)
        for (int64_t c = 0; c < C; ++c) {
          const T before = t > begin ? kv(t - 1, c) : batch.states.empty() ? T(0) : last.views()[s](c), a = w[c];
          yv(t, c) = a * kv(t, c) + (1 - a) * before;
        }
      if (!batch.states.empty() && end > begin) std::copy_n(kv.row(end - 1), C, last.views()[s].data);
    }
    return tape.record(y, {k_TC, mu}, [k, w, C, offsets = batch.offsets](grad::Grads& g) {
      const auto kv = k.view<const T, 2>(), gy = g.out().template view<const T, 2>();
      Tensor gk = Tensor::empty(k.shape(), k.dtype());
      const auto gkv = gk.view<T, 2>();
      const View<T, 1> gmu = g.wants(1) ? g.accumulator(1).template view<T, 1>() : View<T, 1>();
      for (size_t s = 0; s + 1 < offsets.size(); ++s)
        for (int64_t t = offsets[s]; t < offsets[s + 1]; ++t)
          for (int64_t c = 0; c < C; ++c) {
            const T a = w[static_cast<size_t>(c)], before = t > offsets[s] ? kv(t - 1, c) : T(0);
            gkv(t, c) = a * gy(t, c) + (t + 1 < offsets[s + 1] ? (1 - a) * gy(t + 1, c) : T(0));
            if (gmu) gmu(c) += gy(t, c) * (kv(t, c) - before) * a * (1 - a);
          }
      g.add(0, gk);
    });
  });
}

}  // namespace quern::mixers
