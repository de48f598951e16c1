// Routers choose the experts of each token and the weights that combine their outputs.
//
// ZayaRouter (top-1, E experts and a skip class):
//   r = x·Wdᵀ + bd  (+ γ ⊙ the router state of the block below);  the state passed on is r
//   p = softmax(W3·gelu(W2·gelu(W1·norm(r) + b1) + b2));  e = argmax(p + β), ties to the lowest;  weight p_e
// β is a buffer updated by a controller (quern/optim/balance), never by the loss: its grad accumulates the tokens each
// class received, over micro-batches and ranks, like any gradient. Class E means "no expert". With `linear`, p is
// softmax(x·W3ᵀ) and the rest is the same.
//
// LinearRouter: p = softmax(x·Wᵀ), the k largest, renormalized to sum 1 on request.
#pragma once
#include <span>
#include <vector>

#include "quern/ffn/ffn.h"
#include "quern/nn/linear.h"

namespace quern::ffn {

struct Routing {
  Tensor expert_Tk;     // i32, E = skipped
  grad::Var weight_Tk;  // combine weights
};

class Router
    : public nn::Module {  // packs as f32 whatever the experts do: a small difference sends a token elsewhere
 public:
  virtual Routing route(grad::Tape& tape, const grad::Var& x_TD, DepthCarry& carry) = 0;
  // Tokens each class got in a training forward, the skip class last.
  virtual void note_load(std::span<const int64_t>) {}
  virtual int64_t experts_per_token() const { return 1; }
};

struct ZayaRouterConfig {
  enum class Skip { zero, identity };  // what a skipped token gets: nothing, or its weight times its input
  int64_t width = 0, router_width = 0, n_experts = 0;
  bool depth_average = true;  // false in the first block
  bool linear = false;        // p = softmax(x·W3ᵀ), to measure the MLP against: no router state, no router_width
  double eps = 1e-5;
  Skip skip = Skip::zero;
};

class ZayaRouter : public Router {
 public:
  explicit ZayaRouter(ZayaRouterConfig config);
  void visit(const std::string& prefix, const nn::ParameterVisitor& v) override;
  void pack(const nn::WeightPrepacking& t) override;
  Routing route(grad::Tape& tape, const grad::Var& x_TD, DepthCarry& carry) override;
  void note_load(std::span<const int64_t> counts) override;
  grad::Parameter& balancing_biases() { return beta_; }

 private:
  grad::Var scores(grad::Tape& tape, const grad::Var& x_TD, DepthCarry& carry);
  ZayaRouterConfig c_;
  nn::Linear down_, fc1_, fc2_, out_;
  grad::Parameter gamma_, norm_, beta_;
};

enum class TopKWeights : bool { plain, renormalized };

class LinearRouter : public Router {
 public:
  LinearRouter(int64_t width, int64_t n_experts, int64_t k, TopKWeights weights);
  void visit(const std::string& prefix, const nn::ParameterVisitor& v) override;
  void pack(const nn::WeightPrepacking& t) override;
  Routing route(grad::Tape& tape, const grad::Var& x_TD, DepthCarry& carry) override;
  int64_t experts_per_token() const override { return k_; }

 private:
  int64_t k_;
  TopKWeights weights_;
  nn::Linear gate_;
};

}  // namespace quern::ffn
