// A stack of pre-norm blocks: r += Mixer_l(norm1(r)); r += FFN(norm2(r)); logits = norm(r)·headᵀ. Families that differ in
// their mixers and in tensor names alone share it: Llama and its like, and hybrids of any mixers.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "quern/ffn/dense/dense_ffn.h"
#include "quern/mixers/mixer.h"
#include "quern/models/head.h"
#include "quern/models/model.h"

namespace quern::models {

struct PreNormShape {
  int64_t vocab_size, width;
  bool tied;  // one matrix for the embedding and the LM head
  double eps;
  const char *mixer, *mixer_norm;  // tensor names in a layer: "self_attn", "post_attention_layernorm"
};

class PreNormModel : public Model {
 public:
  int64_t vocab_size() const override { return shape_.vocab_size; }
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
  bool ignorable(const std::string& tensor) const override { return shape_.tied && tensor == "lm_head.weight"; }

 protected:
  explicit PreNormModel(const PreNormShape& shape);
  void add_block(std::unique_ptr<mixers::Mixer> mixer, const ffn::DenseConfig& ffn);

 private:
  struct Block {
    Block(int64_t width, std::unique_ptr<mixers::Mixer> m, const ffn::DenseConfig& f)
        : norm1({width}, grad::Init::constant(1)),
          norm2({width}, grad::Init::constant(1)),
          mixer(std::move(m)),
          ffn(f) {}
    grad::Parameter norm1, norm2;
    std::unique_ptr<mixers::Mixer> mixer;
    ffn::DenseFfn ffn;
  };
  PreNormShape shape_;
  Head head_;
  grad::Parameter norm_;
  std::vector<std::unique_ptr<Block>> blocks_;
};

}  // namespace quern::models
