// The shared transformer block of Zamba models, invoked at several layers with the same weights. No residual inside:
//   u = RMSNorm(h ‖ e0);  q, k, v = u·Wᵀ (+ u·Aᵀ·Bᵀ);  o = softmax(q·kᵀ·(d/2)^−½)·v·Woᵀ
//   m = RMSNorm(o);  f = (act(gate) ⊙ up)·Wdownᵀ,  [gate ‖ up] = m·Wguᵀ (+ m·Aᵀ·Bᵀ)
// The scale uses half the head size: the concatenation doubled the width, the models kept the old scale. A and B are
// low-rank adapters of one invocation; their product is added to the shared matrix's output and never merged into it.
// Shapes: T tokens, H width, 2H attention width, F inner width, R adapter rank. Cost per token and invocation: 14·H² +
// 3·H·F multiply-adds, adapters R·(12·H + H + 2·F), and 4·H per key seen.
#pragma once
#include <array>
#include <optional>
#include <vector>

#include "quern/kernels/activation/activation.h"
#include "quern/mixers/ranks/attend.h"
#include "quern/nn/linear.h"

namespace quern::models {

struct SharedBlockConfig {
  int64_t width = 0, n_head = 0, n_head_kv = 0, ffn = 0;
  kernels::Activation act = kernels::Activation::gelu;
  double eps = 1e-5;
  int64_t rotary_dims = 0;  // 0: no positions
  mixers::RopeConfig rope;
  bool fused_gate_up = false;  // one matrix [gate ‖ up] in the checkpoint
  bool ffn_bias = false;
  int64_t adapter_rank = 0;  // of the feed-forward adapter; 0: none
  bool attention_adapter = false;

  int64_t head_dim() const { return 2 * width / n_head; }
};

// What belongs to one invocation: its adapters, the matrix its result passes through, and the paths that a LoRA adapter
// has beside the shared matrices here.
class Invocation : public nn::Module {
 public:
  explicit Invocation(const SharedBlockConfig& c);
  // Adapters are named inside the block's prefix, by the invocation's number.
  void visit_adapters(const std::string& block_prefix, size_t number, const nn::ParameterVisitor& v);
  void visit(const std::string& prefix, const nn::ParameterVisitor& v) override {
    linear.visit(prefix + "linear", v);
  }
  void pack(const nn::WeightPrepacking& t) override;
  // The paths of a LoRA adapter, which names the block's matrices by the layers that invoke it: this one, then all.
  void find_paths(const nn::WeightPrepacking& t, size_t number, const std::vector<std::string>& block_prefixes);

  struct Adapter {
    nn::Linear down, up;
  };
  nn::Linear linear;
  std::optional<nn::LinearGroup> qkv_down;  // q, k, v
  std::vector<nn::Linear> qkv_up;
  std::optional<Adapter> gate_up;
  std::array<nn::LowRank, 3> qkv_path;
  nn::LowRank o_path, down_path;
  std::vector<nn::LowRank> gate_up_path;  // of each part

 private:
  SharedBlockConfig c_;
};

class SharedBlock : public nn::Module {
 public:
  explicit SharedBlock(SharedBlockConfig config);
  mixers::StateSpec state_spec(DType kv) const { return {mixers::kv_parts(c_.n_head_kv, c_.head_dim(), 0, kv)}; }
  void visit(const std::string& prefix, const nn::ParameterVisitor& v) override;
  void pack(const nn::WeightPrepacking& t) override;
  // f·Linᵀ of this invocation: what is added to the input of the layer's mixer.
  grad::Var forward(grad::Tape& tape, const grad::Var& h_TH, const grad::Var& e0_TH, Invocation& own,
                    const mixers::Batch& batch, int site);

 private:
  grad::Var attention(grad::Tape& tape, const grad::Var& u, Invocation& own, const mixers::Batch& batch, int site);

  SharedBlockConfig c_;
  grad::Parameter norm_in_, norm_ff_;
  nn::LinearGroup qkv_;
  nn::Linear o_;
  nn::LinearGroup gate_up_;
  nn::Linear down_;
  bool bf16_ = false;
};

}  // namespace quern::models
