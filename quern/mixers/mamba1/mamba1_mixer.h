// Mamba (arXiv 2312.00752) in the two-head form of Zamba-7B: after the convolution the inner channels are split into
// heads, each with its own B, C and time steps.
//   p = x·Winᵀ;  x[c] = p[2c], z[c] = p[2c+1] (interleaved in the checkpoint, not two halves)
//   x ← SiLU(causal depthwise convolution of x);  per head, on its channels:
//   [δ ‖ B ‖ C] = x·Wxᵀ;  dt = δ·Wdtᵀ;  y = selective scan(x, dt, B, C; A_log, D, bias) ⊙ SiLU(z)
//   out = [heads of y]·Woutᵀ
// State: the last taps − 1 rows of x before the convolution, and S [heads, N, I / heads] in f32. Shapes: T tokens, D
// width, I inner channels, N states, R rank of the time steps. Prepacking reorders the rows of Win: x first, then z.
// Cost per token: 3·D·I + I·(2R + 2N) multiply-adds and N·I exponentials.
#pragma once
#include "quern/mixers/mixer.h"
#include "quern/nn/linear.h"

namespace quern::mixers {

struct Mamba1Config {
  int64_t width = 0, inner = 0, n_head = 1, n_state = 16, dt_rank = 0, taps = 4;
  bool conv_bias = true, proj_bias = false;

  int64_t head_channels() const { return inner / n_head; }
  template <class V>
  void visit(V& v) {
    v("width", width, "width of the residual stream");
    v("inner", inner, "inner channels");
    v("n_head", n_head, "heads with B, C and time steps of their own");
    v("n_state", n_state, "states of a channel");
    v("dt_rank", dt_rank, "rank of the time step projection");
    v("taps", taps, "taps of the convolution");
    v("conv_bias", conv_bias, "bias of the convolution");
    v("proj_bias", proj_bias, "biases of the projections");
  }
};

class Mamba1Mixer : public Mixer {
 public:
  explicit Mamba1Mixer(Mamba1Config config);
  StateSpec state_spec(DType kv) const override;
  void visit(const std::string& prefix, const nn::ParameterVisitor& v) override;
  void pack(const nn::WeightPrepacking& t) override;
  grad::Var forward(grad::Tape& tape, const grad::Var& x_TD, const Batch& batch, int site) override;

 private:
  static constexpr const char *kConvTail = "conv", *kSsm = "ssm";  // parts of the state
  grad::Var convolved(grad::Tape& tape, const grad::Var& xz_T2I, const Batch& batch, int site);
  // One head's channels: u [T, I / heads] after the convolution.
  grad::Var scanned(grad::Tape& tape, const grad::Var& u_TI, const grad::Var& xz_T2I, int64_t head,
                    const Batch& batch, int site);
  struct HeadInputs {
    int64_t head;
    grad::Var u_TC, dt_TC, bc_T2N, z_TC;
  };
  grad::Var scan(grad::Tape& tape, const HeadInputs& of, const Batch& batch, int site);

  Mamba1Config c_;
  nn::Linear in_, out_;
  grad::Parameter conv_w_, conv_b_, x_proj_, dt_proj_, dt_bias_, a_log_, d_;
  std::vector<nn::Linear> packed_x_, packed_dt_;  // a head each
  std::string prefix_;                            // of the parameters, as visited last
  nn::LowRank in_path_;                           // of in_, once packed
  Tensor taps_KC_, decay_HNC_;                    // taps outermost; −exp(A_log), states outermost
};

}  // namespace quern::mixers
