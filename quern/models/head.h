// Embedding and LM head of a model: one matrix when tied, two when not. If quantized, the embedding is prepacked too,
// and the rows of a batch are dequantized from it.
#pragma once
#include <span>
#include <string>

#include "quern/nn/ops.h"

namespace quern::models {

enum class OutputMatrix : bool { separate, tied };

class Head : public nn::Module {
 public:
  Head(int64_t vocab, int64_t width, OutputMatrix output, std::string embedding = "model.embed_tokens.weight");
  void visit(const std::string& prefix, const nn::ParameterVisitor& v) override;  // and lm_head.weight
  void pack(const nn::WeightPrepacking& t) override;                              // by the head's own scheme

  grad::Var embed(grad::Tape& tape, std::span<const int32_t> ids);  // [T, D]; ids checked
  grad::Var logits(grad::Tape& tape, const grad::Var& hidden_TD);   // [T, V]
  grad::Var loss(grad::Tape& tape, const grad::Var& hidden_TD,
                 std::span<const int32_t> targets);  // mean cross-entropy, no T×V matrix
  grad::Var objective(grad::Tape& tape, const grad::Var& hidden_TD, const nn::HeadTerms& terms);

 private:
  nn::HeadWeight output(grad::Tape& tape);
  grad::Parameter& out() { return tied_ ? embed_ : out_; }
  bool tied_;
  std::string embedding_;  // its name
  grad::Parameter embed_, out_;
  kernels::PrepackedWeight packed_, packed_embed_;  // the latter only where quantized; tied: the same
};

}  // namespace quern::models
