#include "quern/mixers/gated_delta/short_conv.h"

#include "quern/kernels/ssm/causal_conv.h"
#include "quern/mixers/ssm_state.h"
#include "quern/nn/dispatch.h"
#include "quern/trace/trace.h"

namespace quern::mixers {
namespace {

constexpr const char* kConv = "conv";  // the part of the state

}  // namespace

StatePart short_conv_part(int64_t taps, int64_t channels, DType kv) {
  return {.name = kConv, .shape = {taps - 1, channels}, .dtype = ssm_state_dtype(kv), .snapshots_inside = true};
}

grad::Var short_conv(grad::Tape& tape, const grad::Var& x_TC, grad::Parameter& w_C1K, const Batch& batch, int site) {
  const trace::Span span(trace::Kind::operation, "convolution");
  const grad::Var w = tape.param(w_C1K);
  const Tensor x = x_TC.value, taps = taps_outermost(w.value), y = Tensor::empty(x.shape(), x.dtype());
  return nn::with_float(x.dtype(), [&]<class T>() {
    auto inputs = [x, taps](std::span<const int32_t> offsets) {
      return kernels::CausalConvInputs<T>{x.view<const T, 2>(), taps.view<const T, 2>(), View<const T, 1>(), offsets};
    };
    snapshot_tails(batch, site, kConv, x);
    SsmStates<T, 2> tails(batch, site, kConv, x.dtype());
    kernels::causal_conv_silu<T>(inputs(batch.offsets), tails.views(), y.view<T, 2>());
    return tape.record(y, {x_TC, w}, [x, taps, inputs, offsets = batch.offsets](grad::Grads& g) {
      Tensor gx = Tensor::empty(x.shape(), x.dtype()), gtaps = Tensor::zeros(taps.shape(), taps.dtype());
      kernels::causal_conv_silu_backward<T>(inputs(offsets), g.out().template view<const T, 2>(), gx.view<T, 2>(),
                                            gtaps.view<T, 2>(), View<T, 1>(), thread_arena());
      g.add(0, gx);
      if (g.wants(1)) g.add(1, taps_innermost(gtaps));
    });
  });
}

}  // namespace quern::mixers
