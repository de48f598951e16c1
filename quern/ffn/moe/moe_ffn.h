// Mixture of experts (MoE): a router chooses experts, tokens are grouped by expert, each non-empty expert runs one
// gated FFN, and outputs are combined with the router's weights:
//   y_t = Σ_s w[t,s]·(act(x·Wgᵀ) ⊙ (x·Wuᵀ))·Wdᵀ of expert e[t,s]
// A skipped token gets zero, or its weight times its input. Cost per token: 3·D·F multiply-adds per chosen expert.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "quern/base/setting.h"
#include "quern/comm/communicator.h"
#include "quern/ffn/moe/router.h"
#include "quern/kernels/activation/activation.h"
#include "quern/kernels/gemm/gemm.h"
#include "quern/kernels/moe/moe.h"

namespace quern::ffn {

struct MoeConfig {
  int64_t width = 0, hidden = 0, n_experts = 0, top_k = 1, router_width = 0;
  bool depth_average = true, renormalize = false;
  std::string router = "linear", skip = "zero";
  template <class V>
  void visit(V& v) {
    v("width", width, "width of the residual stream");
    v("hidden", hidden, "inner width of an expert");
    v("n_experts", n_experts, "number of experts");
    v("top_k", top_k, "experts per token");
    v("router_width", router_width, "width of the router's MLP");
    v("depth_average", depth_average, "average the router's input over depth");
    v("renormalise", renormalize, "renormalize the weights of the chosen experts to sum to 1", aka("renormalize"));
    v("router", router, "linear or zaya (an MLP)");
    v("skip", skip, "output for a token routed to no expert: zero or identity");
  }
};

// Names in a checkpoint, behind the layer's own prefix.
struct MoeNames {
  const char *router = "gate.", *gate_up = "experts.gate_up_proj", *down = "experts.down_proj";
};

class MoeFfn : public Ffn {
 public:
  MoeFfn(ZayaRouterConfig router, int64_t hidden);
  MoeFfn(std::unique_ptr<Router> router, int64_t width, int64_t hidden, int64_t n_experts, MoeNames names = {});
  void visit(const std::string& prefix, const nn::ParameterVisitor& v) override;
  void pack(const nn::WeightPrepacking& t) override;
  grad::Var forward(grad::Tape& tape, const grad::Var& x_TD, DepthCarry& carry) override;
  int64_t routed() const override { return router_->experts_per_token(); }

  // From now on rank r of the group computes the r-th even cut of the experts for the tokens of all its ranks
  // (exchange.h); null: every rank its own tokens again. Weights stay whole everywhere; gradients of an expert arise
  // on the rank that has it, zeros elsewhere.
  void share(comm::Communicator* group) override;

  // Tokens per class in the last forward, the skip class last.
  const std::vector<int64_t>& last_counts() const { return counts_; }
  Router& router() { return *router_; }

 private:
  grad::Var experts(grad::Tape& tape, const grad::Var& x_TD, const Routing& r);
  grad::Var frozen_experts(grad::Tape& tape, const grad::Var& x_TD, const Routing& r);
  grad::Var experts_over_ranks(grad::Tape& tape, const grad::Var& x_TD, const Routing& r);
  grad::Var skipped(grad::Tape& tape, const grad::Var& y_TD, const grad::Var& x_TD, const Routing& r);
  int64_t n_experts_;
  bool skip_identity_ = false;
  kernels::Activation act_ = kernels::Activation::silu;
  std::unique_ptr<Router> router_;
  grad::Parameter gate_up_, down_;  // [E, 2F, D], [E, D, F]
  comm::Communicator* group_ = nullptr;
  MoeNames names_;
  std::string prefix_;  // as visited last
  std::vector<kernels::PrepackedWeight> packed_gate_up_, packed_down_;
  std::vector<int64_t> counts_;
};

}  // namespace quern::ffn
