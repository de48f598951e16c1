// What Zamba-7B and Zamba2 share: a deep stack of Mamba layers on one residual stream h, with one or two shared
// transformer blocks invoked at the "hybrid" layers.
//   e0 = h = embed(ids)
//   at every layer l:  t = block[j mod blocks](h ‖ e0) through invocation j's matrix if l is hybrid number j, else 0
//                      h = h + Mixer_l(RMSNorm(h + t))
//   logits = RMSNorm(h)·embedᵀ
// The stream itself never receives t. Blocks alternate by the number of the invocation, not of the layer. State sites:
// the mixers of all layers, then the invocations with a KV cache each.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "quern/models/head.h"
#include "quern/models/model.h"
#include "quern/models/zamba/shared_block.h"

namespace quern::models {

struct ZambaStackConfig {
  int64_t vocab = 0, width = 0;
  double eps = 1e-5;
  bool tied = true;
  std::vector<bool> hybrid;  // one a layer
  int64_t n_block = 1;
  std::string block_name;  // "shared_transf", "shared_transformer"
  SharedBlockConfig block;

  std::vector<int64_t> hybrid_layers() const;
};

class ZambaStack : public Model {
 public:
  int64_t vocab_size() const override { return stack_.vocab; }
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
  // A block is stored under the first hybrid layer that uses it; copies under later ones must be equal.
  Tensor read(const TensorFolder& folder, const std::string& name, const grad::Parameter& p) const override;
  bool ignorable(const std::string& tensor) const override;
  std::vector<std::string> other_names(const std::string& name) const override {
    const std::string other = other_name(name);
    return other.empty() ? std::vector<std::string>() : std::vector<std::string>{other};
  }
  std::vector<std::string> names_at_layers(const std::string& name) const override;

 protected:
  using MakeMixer = std::function<std::unique_ptr<mixers::Mixer>()>;
  ZambaStack(ZambaStackConfig config, const MakeMixer& make);
  // Another layout's name of a parameter; empty: none.
  virtual std::string other_name(const std::string&) const { return {}; }
  const std::vector<int64_t>& hybrid_layers() const { return hybrid_layers_; }

 private:
  struct Layer {
    grad::Parameter norm;
    std::unique_ptr<mixers::Mixer> mixer;
    int invocation = -1;  // of a hybrid layer
  };
  std::string block_prefix(int64_t layer) const;

  ZambaStackConfig stack_;
  std::vector<int64_t> hybrid_layers_;
  Head head_;
  grad::Parameter norm_;
  std::vector<Layer> layers_;
  std::vector<std::unique_ptr<SharedBlock>> blocks_;
  std::vector<std::unique_ptr<Invocation>> invocations_;
};

// For both configurations: "mamba", "linear_attention" and "m" are plain layers, "hybrid" and "g" hybrid ones.
std::vector<bool> zamba_hybrid_layers(const std::vector<std::string>& names);
std::vector<std::string> zamba_layer_names(const std::vector<bool>& hybrid);
// Throws Error naming the field unless 1 ≤ v ≤ most.
void zamba_check_size(const char* key, int64_t v, int64_t maximum);

}  // namespace quern::models
