// The smallest mixer with a state, kept outside quern/ to prove that a new one needs no edits elsewhere:
//   y_t = w ⊙ x_{t−1},  x_{−1} = 0 at the start of a sequence.
// Backward: gx_{t−1} = w ⊙ gy_t,  gw = Σ_t gy_t ⊙ x_{t−1}.
#pragma once
#include "quern/mixers/mixer.h"

namespace quern::mixers {

struct LagConfig {
  int64_t width = 0;
  template <class V>
  void visit(V& v) {
    v("width", width, "columns of the residual stream");
  }
};

class LagMixer : public Mixer {
 public:
  explicit LagMixer(LagConfig c);
  StateSpec state_spec(DType) const override { return {{{.name = "last", .shape = w_.shape}}}; }
  void visit(const std::string& prefix, const nn::ParameterVisitor& v) override { v(prefix + "weight", w_); }
  grad::Var forward(grad::Tape& tape, const grad::Var& x_TD, const Batch& batch, int site) override;

 private:
  grad::Parameter w_;
};

}  // namespace quern::mixers
