#include "quern/mixers/gated_delta/memory_heads.h"

#include <cmath>

#include "quern/base/threads.h"
#include "quern/mixers/gated_delta/fast_weights.h"
#include "quern/mixers/ovq/head_views.h"
#include "quern/mixers/ssm_state.h"
#include "quern/nn/dispatch.h"

namespace quern {
namespace {

constexpr const char* kMemory = "memory";  // the part of the state

template <class T>
T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}
template <class T>
T softplus_of(T x) {
  return std::max(x, T(0)) + std::log1p(std::exp(-std::abs(x)));
}

struct GateValues {
  Tensor beta, g;  // [H, T], undefined where there is no such gate
};

template <class T>
GateValues gate_values(const MemoryGates& gates, int64_t rows, int64_t H) {
  GateValues out;
  const DType t = dtype_of<T>::value;
  if (gates.b) {
    out.beta = Tensor::empty({H, rows}, t);
    const auto b = gates.b->value.view<const T, 2>();
    for (int64_t h = 0; h < H; ++h)
      for (int64_t r = 0; r < rows; ++r) out.beta.data<T>()[h * rows + r] = sigmoid(b(r, h));
  }
  if (gates.a) {
    out.g = Tensor::empty({H, rows}, t);
    const auto a = gates.a->value.view<const T, 2>();
    for (int64_t h = 0; h < H; ++h) {
      const T rate = -std::exp(gates.a_log->value.data<T>()[h]), bias = gates.dt_bias->value.data<T>()[h];
      for (int64_t r = 0; r < rows; ++r) out.g.data<T>()[h * rows + r] = rate * softplus_of(a(r, h) + bias);
    }
  }
  return out;
}

template <class T>
FastWeights<T> head_inputs(const Tensor& q, const Tensor& k, const Tensor& v, const GateValues& gates, bool correct,
                           int64_t begin, int64_t end, int64_t h) {
  return {head_rows<const T>(q, begin, end, h),          head_rows<const T>(k, begin, end, h),
          head_rows<const T>(v, begin, end, h),          head_span<const T>(gates.g, begin, end, h),
          head_span<const T>(gates.beta, begin, end, h), correct};
}

}  // namespace

StatePart memory_part(int64_t n_head, int64_t head_dim, DType kv) {
  return {.name = kMemory,
          .shape = {n_head, head_dim, head_dim},
          .dtype = ssm_state_dtype(kv),
          .snapshots_inside = true,
          .shard_axis = 0};
}

Var memory_heads(Tape& tape, const Var& q_THd, const Var& k_THd, const Var& v_THd, const MemoryGates& gates,
                 bool correct, const Batch& batch, int site) {
  std::vector<Var> inputs = {q_THd, k_THd, v_THd};
  const int at_b = gates.b ? 3 : -1, at_a = gates.a ? 3 + (gates.b != nullptr) : -1;
  if (gates.b) inputs.push_back(*gates.b);
  if (gates.a) {
    inputs.push_back(*gates.a);
    inputs.push_back(tape.param(*gates.a_log));
    inputs.push_back(tape.param(*gates.dt_bias));
  }
  const bool keep = tape.needs(inputs);
  QUERN_CHECK(!keep || batch.states.empty(), "training reads whole segments, not states");
  const Tensor q = q_THd.value, k = k_THd.value, v = v_THd.value, out = Tensor::empty(v.shape(), v.dtype());
  const int64_t H = q.dim(1), d = q.dim(2), dv = v.dim(2), S = batch.segments();
  std::vector<int64_t> kept_at = {0};  // of each segment, in states
  for (int64_t s = 0; s < S; ++s)
    kept_at.push_back(kept_at.back() +
                      (batch.offsets[s + 1] - batch.offsets[s] + kFastWeightsKept - 1) / kFastWeightsKept);
  return with_float(q.dtype(), [&]<class T>() {
    const GateValues values = gate_values<T>(gates, q.dim(0), H);
    const Tensor kept = keep ? Tensor::empty({kept_at.back(), H, d, dv}, q.dtype()) : Tensor();
    between_snapshots(batch, [&](int64_t row, int64_t, const Batch& b, SequenceState* into) {
      SsmStates<T, 3> states(b, site, kMemory, q.dtype());
      parallel_dynamic(b.segments() * H, [&](int64_t unit) {
        const int64_t s = unit / H, h = unit % H, begin = row + b.offsets[s], end = row + b.offsets[s + 1];
        Arena& scratch = thread_arena();
        Arena::Scope scope(scratch);
        std::span<T> fresh = scratch.take<T>(b.states.empty() ? d * dv : 0), room = scratch.take<T>(0);
        std::fill(fresh.begin(), fresh.end(), T(0));
        const int64_t stretches = keep ? kept_at[s + 1] - kept_at[s] : 0;
        if (keep) room = scratch.take<T>(stretches * d * dv);
        fast_weights<T>(head_inputs<T>(q, k, v, values, correct, begin, end, h),
                        b.states.empty() ? fresh.data() : states.views()[s].row(h), head_rows<T>(out, begin, end, h),
                        keep ? room.data() : nullptr, scratch);
        for (int64_t i = 0; i < stretches; ++i)
          std::copy_n(room.data() + i * d * dv, d * dv, kept.data<T>() + ((kept_at[s] + i) * H + h) * d * dv);
      });
      states.snapshot(into);
    });
    const Tensor b = gates.b ? gates.b->value : Tensor(), a = gates.a ? gates.a->value : Tensor(),
                 a_log = gates.a ? gates.a_log->value : Tensor(), dt_bias = gates.a ? gates.dt_bias->value : Tensor();
    return tape.record(out, inputs, [=, offsets = batch.offsets](Grads& g) {
      const Tensor gout = g.out(), gq = Tensor::empty(q.shape(), q.dtype()), gk = Tensor::empty(k.shape(), k.dtype()),
                   gv = Tensor::empty(v.shape(), v.dtype());
      const int64_t rows = q.dim(0);
      const Tensor gbeta = b.defined() ? Tensor::empty({H, rows}, q.dtype()) : Tensor(),
                   gg = a.defined() ? Tensor::empty({H, rows}, q.dtype()) : Tensor();
      parallel_dynamic(S * H, [&](int64_t unit) {
        const int64_t s = unit / H, h = unit % H, begin = offsets[s], end = offsets[s + 1];
        Arena& scratch = thread_arena();
        Arena::Scope scope(scratch);
        const int64_t stretches = kept_at[s + 1] - kept_at[s];
        std::span<T> room = scratch.take<T>(stretches * d * dv);
        for (int64_t i = 0; i < stretches; ++i)
          std::copy_n(kept.data<T>() + ((kept_at[s] + i) * H + h) * d * dv, d * dv, room.data() + i * d * dv);
        fast_weights_backward<T>(head_inputs<T>(q, k, v, values, correct, begin, end, h), room.data(),
                                 head_rows<const T>(gout, begin, end, h), head_rows<T>(gq, begin, end, h),
                                 head_rows<T>(gk, begin, end, h), head_rows<T>(gv, begin, end, h),
                                 head_span<T>(gg, begin, end, h), head_span<T>(gbeta, begin, end, h), scratch);
      });
      g.add(0, gq);
      g.add(1, gk);
      g.add(2, gv);
      if (b.defined()) {
        Tensor gb = Tensor::empty(b.shape(), b.dtype());
        for (int64_t h = 0; h < H; ++h)
          for (int64_t r = 0; r < rows; ++r) {
            const T beta = values.beta.data<T>()[h * rows + r];
            gb.data<T>()[r * H + h] = gbeta.data<T>()[h * rows + r] * beta * (1 - beta);
          }
        g.add(at_b, gb);
      }
      if (!a.defined()) return;
      Tensor ga = Tensor::empty(a.shape(), a.dtype());
      for (int64_t h = 0; h < H; ++h) {
        const T rate = -std::exp(a_log.data<T>()[h]), bias = dt_bias.data<T>()[h];
        T grate = 0, gbias = 0;
        for (int64_t r = 0; r < rows; ++r) {
          const T at = a.view<const T, 2>()(r, h) + bias, up = gg.data<T>()[h * rows + r];
          ga.data<T>()[r * H + h] = up * rate * sigmoid(at);
          gbias += ga.data<T>()[r * H + h];
          grate += up * rate * softplus_of(at);  // d/dA_log of −e^{A_log}·softplus is itself
        }
        if (g.wants(at_a + 1)) g.accumulator(at_a + 1).template view<T, 1>()(h) += grate;
        if (g.wants(at_a + 2)) g.accumulator(at_a + 2).template view<T, 1>()(h) += gbias;
      }
      g.add(at_a, ga);
    });
  });
}

}  // namespace quern
