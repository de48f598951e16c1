// Llama-style transformer, the baseline: r += Attention(norm1(r)); r += FFN(norm2(r)); logits = norm(r)·headᵀ.
#pragma once
#include <memory>
#include <vector>

#include "quern/ffn/dense/dense_ffn.h"
#include "quern/mixers/attention/attention_mixer.h"
#include "quern/models/head.h"
#include "quern/models/llama/llama_config.h"
#include "quern/models/model.h"

namespace quern {

class LlamaModel : public Model {
 public:
  explicit LlamaModel(LlamaConfig config);

  std::string family() const override { return "llama"; }
  int64_t vocab_size() const override { return config_.vocab_size; }
  int64_t max_positions() const override { return config_.max_position_embeddings; }
  Json config() const override { return config_.to_hf(); }
  std::vector<StateSite> sites(DType kv) const override;
  void visit(const std::string& prefix, const ParameterVisitor& v) override;
  void pack(const WeightPrepacking& t) override;
  Var hidden(Tape& tape, std::span<const int32_t> ids, const Batch& batch) override;
  Var logits(Tape& tape, const Var& hidden_TD) override { return head_.logits(tape, hidden_TD); }
  Var loss(Tape& tape, const Var& hidden_TD, std::span<const int32_t> targets) override {
    return head_.loss(tape, hidden_TD, targets);
  }
  bool ignorable(const std::string& tensor) const override;

 private:
  struct Block {
    Block(const LlamaConfig& c, int64_t k);
    Parameter norm1, norm2;
    AttentionMixer attention;
    DenseFfn ffn;
  };
  LlamaConfig config_;
  Head head_;
  Parameter norm_;
  std::vector<std::unique_ptr<Block>> blocks_;
};

}  // namespace quern
