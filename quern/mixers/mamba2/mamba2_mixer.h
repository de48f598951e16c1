// Mamba-2 (arXiv 2405.21060) as Zamba2 uses it:
//   [z ‖ x ‖ B ‖ C ‖ dt] = x·Winᵀ;  [X ‖ B ‖ C] = SiLU(causal depthwise convolution of [x ‖ B ‖ C])
//   Y = SSD(X, B, C, dt; A_log, D, dt_bias);  y = GatedNorm(Y, z)·Woutᵀ            (kernels/ssm)
// State: the last taps − 1 rows of [x ‖ B ‖ C] before the convolution, and S [H, N, P] in f32. Both fixed in size.
// Shapes: T tokens, D width, H heads of P, I = H·P, G groups, N states, C = I + 2GN convolution channels,
// W = I + C + H rows of Win. Cost per token: D·(W + I) multiply-adds for the projections and about 3·N·I for SSD.
#pragma once
#include <optional>
#include <vector>

#include "quern/kernels/ssm/ssd.h"
#include "quern/mixers/mixer.h"
#include "quern/nn/column_factors.h"
#include "quern/nn/linear.h"

namespace quern::mixers {

struct Mamba2Config {
  int64_t width = 0, n_head = 0, head_dim = 0, n_state = 0, n_group = 1, taps = 4;
  bool conv_bias = true, proj_bias = false, norm = true;
  std::vector<double> factors;  // of z, x, B, C and dt as projected; empty: none
  double norm_eps = 1e-5;
  double dt_min = 0;  // a floor under the time step; the published models have none
  std::optional<double> dt_max = {};

  int64_t inner() const { return n_head * head_dim; }
  int64_t channels() const { return inner() + 2 * n_group * n_state; }
  template <class V>
  void visit(V& v) {
    v("width", width, "width of the residual stream");
    v("n_head", n_head, "number of heads");
    v("head_dim", head_dim, "channels of a head");
    v("n_state", n_state, "states of a channel");
    v("n_group", n_group, "groups of heads that share B and C, each normalized separately");
    v("taps", taps, "taps of the convolution");
    v("conv_bias", conv_bias, "bias of the convolution");
    v("proj_bias", proj_bias, "biases of the projections");
    v("norm", norm, "normalize the gated output; otherwise it is Y ⊙ SiLU(z)");
    v("factors", factors, "factors of z, x, B, C and dt after the projection (none if empty)");
    v("norm_eps", norm_eps, "epsilon of the gated norm");
    v("dt_min", dt_min, "lower bound of the time step; 0 is none");
    v("dt_max", dt_max, "upper bound of the time step (none if absent)");
  }
};

class Mamba2Mixer : public Mixer {
 public:
  explicit Mamba2Mixer(Mamba2Config config);
  StateSpec state_spec(DType kv) const override;
  void visit(const std::string& prefix, const nn::ParameterVisitor& v) override;
  void pack(const nn::WeightPrepacking& t) override;
  grad::Var forward(grad::Tape& tape, const grad::Var& x_TD, const Batch& batch, int site) override;

 private:
  static constexpr const char *kConvTail = "conv", *kSsm = "ssm";  // parts of the state
  // Everything between the two projections.
  template <class T>
  grad::Var core(grad::Tape& tape, const grad::Var& p_TW, const Batch& batch, int site);
  // The same where rows of a document lie on several ranks (context_core.cc).
  grad::Var context_core(grad::Tape& tape, const grad::Var& p_TW, const Batch& batch, int site);
  template <class T>
  grad::Var context_rows(grad::Tape& tape, const grad::Var& p_TW, const Batch& batch);
  template <class T>
  grad::Var prompt_rows(grad::Tape& tape, const grad::Var& p_TW, const Batch& batch, int site);
  struct SegmentInputs {
    grad::Var xbc, dt, a_log, skip, bias;
  };
  template <class T>
  std::vector<grad::Var> scan_segments(grad::Tape& tape, const SegmentInputs& in,
                                       const std::vector<int32_t>& offsets);
  grad::Var gated(grad::Tape& tape, const grad::Var& y_TI, const grad::Var& p_TW) const;  // without a norm
  template <class T>
  grad::Var context_norm(grad::Tape& tape, const grad::Var& y_TI, const grad::Var& gate);
  template <class T>
  struct Carry;
  template <class T>
  kernels::SsdInputs<T> ssd_inputs(const Tensor& p_TW, const Tensor& xbc_TC, std::span<const int32_t> offsets) const;

  Mamba2Config c_;
  nn::Linear in_, out_;
  grad::Parameter conv_w_, conv_b_, a_log_, d_, dt_bias_, norm_w_;
  nn::ColumnFactors factors_;
  Tensor taps_KC_;  // conv_w_ taps outermost, once packed
};

}  // namespace quern::mixers
