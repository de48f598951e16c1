#include "quern/mixers/gated_delta/memory_heads.h"

#include <cmath>

#include "quern/base/threads.h"
#include "quern/mixers/gated_delta/fast_weights.h"
#include "quern/mixers/ovq/head_views.h"
#include "quern/mixers/ssm_state.h"
#include "quern/nn/dispatch.h"
#include "quern/trace/trace.h"

namespace quern::mixers {
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

// The gates' inputs, and where they stand among those of the operation.
struct GateInputs {
  Tensor b = {}, a = {}, a_log = {}, dt_bias = {};  // undefined where there is no such gate
  int at_b, at_a;
};

GateInputs gate_inputs(const MemoryGates& gates) {
  GateInputs in{.at_b = gates.b ? 3 : -1, .at_a = gates.a ? 3 + (gates.b != nullptr) : -1};
  if (gates.b) in.b = gates.b->value;
  if (gates.a) in.a = gates.a->value, in.a_log = gates.a_log->value, in.dt_bias = gates.dt_bias->value;
  return in;
}

template <class T>
void add_rate_gradient(grad::Grads& g, const GateInputs& in, const Tensor& beta, const Tensor& gbeta) {
  const int64_t rows = in.b.dim(0), H = in.b.dim(1);
  Tensor gb = Tensor::empty(in.b.shape(), in.b.dtype());
  for (int64_t h = 0; h < H; ++h)
    for (int64_t r = 0; r < rows; ++r) {
      const T rate = beta.data<T>()[h * rows + r];
      gb.data<T>()[r * H + h] = gbeta.data<T>()[h * rows + r] * rate * (1 - rate);
    }
  g.add(in.at_b, gb);
}

template <class T>
void add_decay_gradients(grad::Grads& g, const GateInputs& in, const Tensor& gg) {
  const int64_t rows = in.a.dim(0), H = in.a.dim(1);
  Tensor ga = Tensor::empty(in.a.shape(), in.a.dtype());
  for (int64_t h = 0; h < H; ++h) {
    const T rate = -std::exp(in.a_log.data<T>()[h]), bias = in.dt_bias.data<T>()[h];
    T grate = 0, gbias = 0;
    for (int64_t r = 0; r < rows; ++r) {
      const T at = in.a.view<const T, 2>()(r, h) + bias, up = gg.data<T>()[h * rows + r];
      ga.data<T>()[r * H + h] = up * rate * sigmoid(at);
      gbias += ga.data<T>()[r * H + h];
      grate += up * rate * softplus_of(at);  // d/dA_log of −e^{A_log}·softplus is itself
    }
    if (g.wants(in.at_a + 1)) g.accumulator(in.at_a + 1).template view<T, 1>()(h) += grate;
    if (g.wants(in.at_a + 2)) g.accumulator(in.at_a + 2).template view<T, 1>()(h) += gbias;
  }
  g.add(in.at_a, ga);
}

}  // namespace

StatePart memory_part(int64_t n_head, int64_t head_dim, DType kv) {
  return {.name = kMemory,
          .shape = {n_head, head_dim, head_dim},
          .dtype = ssm_state_dtype(kv),
          .snapshots_inside = true,
          .shard_axis = 0};
}

grad::Var memory_heads(grad::Tape& tape, const MemoryHeads& in, const Batch& batch, int site) {
  const trace::Span span(trace::Kind::operation, "gated delta rule");
  std::vector<grad::Var> inputs = {in.q_THd, in.k_THd, in.v_THd};
  if (in.gates.b) inputs.push_back(*in.gates.b);
  if (in.gates.a) {
    inputs.push_back(*in.gates.a);
    inputs.push_back(tape.param(*in.gates.a_log));
    inputs.push_back(tape.param(*in.gates.dt_bias));
  }
  const GateInputs gates = gate_inputs(in.gates);
  const bool keep = tape.needs(inputs), correct = in.correct;
  QUERN_CHECK(!keep || batch.states.empty(), "training reads whole segments, not states");
  const Tensor q = in.q_THd.value, k = in.k_THd.value, v = in.v_THd.value, out = Tensor::empty(v.shape(), v.dtype());
  const int64_t H = q.dim(1), d = q.dim(2), dv = v.dim(2), S = batch.segments();
  std::vector<int64_t> kept_at = {0};  // of each segment, in states
  for (int64_t s = 0; s < S; ++s)
    kept_at.push_back(kept_at.back() +
                      (batch.offsets[s + 1] - batch.offsets[s] + kFastWeightsKept - 1) / kFastWeightsKept);
  return nn::with_float(q.dtype(), [&]<class T>() {
    const GateValues values = gate_values<T>(in.gates, q.dim(0), H);
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
    return tape.record(out, inputs, [=, offsets = batch.offsets](grad::Grads& g) {
      const Tensor gout = g.out(), gq = Tensor::empty(q.shape(), q.dtype()), gk = Tensor::empty(k.shape(), k.dtype()),
                   gv = Tensor::empty(v.shape(), v.dtype());
      const int64_t rows = q.dim(0);
      const Tensor gbeta = gates.b.defined() ? Tensor::empty({H, rows}, q.dtype()) : Tensor(),
                   gg = gates.a.defined() ? Tensor::empty({H, rows}, q.dtype()) : Tensor();
      parallel_dynamic(S * H, [&](int64_t unit) {
        const int64_t s = unit / H, h = unit % H, begin = offsets[s], end = offsets[s + 1];
        Arena& scratch = thread_arena();
        Arena::Scope scope(scratch);
        const int64_t stretches = kept_at[s + 1] - kept_at[s];
        std::span<T> room = scratch.take<T>(stretches * d * dv);
        for (int64_t i = 0; i < stretches; ++i)
          std::copy_n(kept.data<T>() + ((kept_at[s] + i) * H + h) * d * dv, d * dv, room.data() + i * d * dv);
        fast_weights_backward<T>(head_inputs<T>(q, k, v, values, correct, begin, end, h),
                                 {.kept = room.data(),
                                  .gout = head_rows<const T>(gout, begin, end, h),
                                  .gq = head_rows<T>(gq, begin, end, h),
                                  .gk = head_rows<T>(gk, begin, end, h),
                                  .gv = head_rows<T>(gv, begin, end, h),
                                  .gg = head_span<T>(gg, begin, end, h),
                                  .gbeta = head_span<T>(gbeta, begin, end, h)},
                                 scratch);
      });
      g.add(0, gq);
      g.add(1, gk);
      g.add(2, gv);
      if (gates.b.defined()) add_rate_gradient<T>(g, gates, values.beta, gbeta);
      if (gates.a.defined()) add_decay_gradients<T>(g, gates, gg);
    });
  });
}

}  // namespace quern::mixers
