// ZAYA1. What is unusual in it:
//   a residual stream in f32 with a learned scale and bias on both branches of every merge (no plain addition),
//   compressed convolutional attention (quern/mixers/cca), and a top-1 MoE in every block whose router is an MLP that
//   also reads the router state of the block below for the same token (quern/ffn/moe).
//
//   r = (embed(ids) + b)·s                         r [T, D], f32
//   for each block:  r = merge(CCA(norm1(r)), r);  r = merge(MoE(norm2(r), carry), r)
//   logits = norm(r)·embedᵀ
#pragma once
#include <memory>
#include <vector>

#include "quern/ffn/moe/moe_ffn.h"
#include "quern/mixers/mixer.h"
#include "quern/models/context_length.h"
#include "quern/models/head.h"
#include "quern/models/model.h"
#include "quern/models/zaya/zaya_config.h"
#include "quern/nn/ops.h"

namespace quern::models {

class ZayaModel : public Model {
 public:
  explicit ZayaModel(ZayaConfig config);

  std::string family() const override { return "zaya"; }
  int64_t vocab_size() const override { return config_.vocab_size; }
  int64_t max_positions() const override { return accepted_length(config_.source, config_.max_position_embeddings); }
  Json config() const override { return config_.to_hf(); }
  std::vector<mixers::StateSite> sites(DType kv) const override;
  void visit(const std::string& prefix, const nn::ParameterVisitor& v) override;
  void pack(const nn::WeightPrepacking& t) override;
  grad::Var hidden(grad::Tape& tape, std::span<const int32_t> ids, const mixers::Batch& batch) override;
  grad::Var logits(grad::Tape& tape, const grad::Var& hidden_TD) override { return head_.logits(tape, hidden_TD); }
  grad::Var loss(grad::Tape& tape, const grad::Var& hidden_TD, std::span<const int32_t> targets) override {
    return head_.loss(tape, hidden_TD, targets);
  }
  grad::Var objective(grad::Tape& tape, const grad::Var& hidden_TD, const nn::HeadTerms& terms) override {
    return head_.objective(tape, hidden_TD, terms);
  }
  Tensor read(const TensorFolder& folder, const std::string& name, const grad::Parameter& p) const override;
  bool ignorable(const std::string& tensor) const override;
  std::vector<std::string> other_names(const std::string& name) const override;

  bool share_experts(comm::Communicator* group) override;
  std::vector<std::span<const float>> expert_loads() override;

  const ZayaConfig& zaya() const { return config_; }
  ffn::MoeFfn& moe(int64_t block) { return blocks_[static_cast<size_t>(block)]->moe; }

 private:
  struct Block {
    Block(const ZayaConfig& c, int64_t k);
    grad::Parameter norm1, norm2;
    std::unique_ptr<mixers::Mixer> attention;
    ffn::MoeFfn moe;
    nn::ResidualScale after_attention, after_moe;
  };

  ZayaConfig config_;
  Head head_;  // embedding and output, tied or not
  grad::Parameter in_scale_, in_bias_, norm_;
  std::vector<std::unique_ptr<Block>> blocks_;
};

}  // namespace quern::models
