// A stack of pre-norm blocks:
//   r = e·embed(ids);  r += ρ·Mixer_l(norm1(r));  r += ρ·FFN_l(norm2(r));  logits = norm(r)·headᵀ/s
// Families that differ in their mixers, in tensor names and in the factors e, ρ and s alone share it: Llama and its like,
// hybrids of any mixers, and the families of Mamba-2 layers beside attention. A block may lack its mixer or its FFN.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "quern/ffn/ffn.h"
#include "quern/mixers/mixer.h"
#include "quern/models/head.h"
#include "quern/models/model.h"

namespace quern::models {

struct PreNormShape {
  int64_t vocab_size, width;
  bool tied;  // one matrix for the embedding and the LM head
  double eps;
  // Tensor names: of the norms in a layer and of the last one; what all but the head begin with; the embedding.
  const char *ffn_norm = "post_attention_layernorm", *mixer_norm = "input_layernorm", *final_norm = "norm";
  const char *root = "model", *embedding = "embed_tokens";
  double embedding_scale = 1, residual_scale = 1, logit_scale = 1;  // e, ρ, 1/s
};

class PreNormModel : public Model {
 public:
  int64_t vocab_size() const override { return shape_.vocab_size; }
  std::vector<mixers::StateSite> sites(DType kv) const override;
  void visit(const std::string& prefix, const nn::ParameterVisitor& v) override;
  void pack(const nn::WeightPrepacking& t) override;
  grad::Var hidden(grad::Tape& tape, std::span<const int32_t> ids, const mixers::Batch& batch) override;
  grad::Var logits(grad::Tape& tape, const grad::Var& hidden_TD) override {
    return head_.logits(tape, scaled(tape, hidden_TD, shape_.logit_scale));
  }
  grad::Var loss(grad::Tape& tape, const grad::Var& hidden_TD, std::span<const int32_t> targets) override {
    return head_.loss(tape, scaled(tape, hidden_TD, shape_.logit_scale), targets);
  }
  grad::Var objective(grad::Tape& tape, const grad::Var& hidden_TD, const nn::HeadTerms& terms) override {
    return head_.objective(tape, scaled(tape, hidden_TD, shape_.logit_scale), terms);
  }
  bool share_experts(comm::Communicator* group) override;
  bool ignorable(const std::string& tensor) const override { return shape_.tied && tensor == "lm_head.weight"; }

 protected:
  explicit PreNormModel(const PreNormShape& shape);
  template <class T>
  struct Part {
    std::string name;  // in a layer: "self_attn", "mlp"; an FFN of several parts may have none
    std::unique_ptr<T> layer;
  };
  void add_block(Part<mixers::Mixer> mixer, Part<ffn::Ffn> ffn);

 private:
  struct Block {
    grad::Parameter norm1, norm2;
    Part<mixers::Mixer> mixer;
    Part<ffn::Ffn> ffn;
    int site = -1;      // of the mixer
    int64_t slots = 0;  // of the layers before, in recorded routes
  };
  static grad::Var scaled(grad::Tape& tape, const grad::Var& x, double factor);
  grad::Var forward(grad::Tape& tape, Block& b, const grad::Var& r_TD, const mixers::Batch& batch);

  PreNormShape shape_;
  Head head_;
  grad::Parameter norm_;
  std::vector<std::unique_ptr<Block>> blocks_;
  int n_sites_ = 0;
  int64_t n_slots_ = 0;  // experts per token, summed over the layers
};

}  // namespace quern::models
