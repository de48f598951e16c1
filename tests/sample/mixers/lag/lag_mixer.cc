#include "tests/sample/mixers/lag/lag_mixer.h"

#include "quern/base/config.h"
#include "quern/nn/dispatch.h"
#include "quern/nn/registry.h"

namespace quern::mixers {

LagMixer::LagMixer(LagConfig c) : w_({c.width}, grad::Init::constant(1)) {
  if (c.width < 1) fail("mixer lag: width is {}, expected at least 1", c.width);
}

grad::Var LagMixer::forward(grad::Tape& tape, const grad::Var& x_TD, const Batch& batch, int site) {
  grad::Var w_D = tape.param(w_);
  Tensor x = x_TD.value, w = w_D.value.to(x.dtype()), y = Tensor::empty(x.shape(), x.dtype());
  return nn::with_float(x.dtype(), [&]<class T>() {
    auto xv = x.view<const T, 2>();
    auto wv = w.view<const T, 1>();
    auto yv = y.view<T, 2>();
    for (int64_t s = 0; s < batch.segments(); ++s) {
      Tensor last = batch.states.empty() ? Tensor() : batch.states[s]->fixed(site, "last");
      for (int64_t t = batch.offsets[s]; t < batch.offsets[s + 1]; ++t)
        for (int64_t d = 0; d < w.dim(0); ++d) {
          T before = t > batch.offsets[s] ? xv(t - 1, d) : last.defined() ? static_cast<T>(last.item(d)) : T(0);
          yv(t, d) = wv(d) * before;
        }
      if (last.defined()) last.copy_from(x.narrow(0, batch.offsets[s + 1] - 1, 1).reshape({w.dim(0)}));
    }
    return tape.record(y, {x_TD, w_D}, [x, w, offsets = batch.offsets](grad::Grads& g) {
      auto gy = g.out().view<const T, 2>(), xb = x.view<const T, 2>();
      Tensor gx = Tensor::zeros(x.shape(), x.dtype()), gw = Tensor::zeros(w.shape(), x.dtype());
      for (size_t s = 0; s + 1 < offsets.size(); ++s)
        for (int64_t t = offsets[s] + 1; t < offsets[s + 1]; ++t)
          for (int64_t d = 0; d < w.dim(0); ++d) {
            gx.view<T, 2>()(t - 1, d) = w.view<const T, 1>()(d) * gy(t, d);
            gw.view<T, 1>()(d) += gy(t, d) * xb(t - 1, d);
          }
      if (g.wants(0)) g.add(0, gx);
      if (g.wants(1)) g.add(1, gw);
    });
  });
}

void register_lag(nn::Registry& r) {
  r.mixers.add("lag", [](const Json& j) -> std::unique_ptr<Mixer> {
    LagConfig c;
    from_json(j, c, "mixer lag", UnknownKeys::refuse);
    return std::make_unique<LagMixer>(c);
  });
}

}  // namespace quern::mixers
