// Assigns parameters to optimizers. Rules are tried in order and the first that matches takes the parameter; then come
// the defaults: kind matrix → `matrices`, embedding and head → `embeddings`, balance → the balancing controller,
// everything else → `others`. Decay follows the optimizer: `weight_decay` applies to all its parameters, and the
// defaults give `embeddings` and `others` none.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "quern/base/config.h"
#include "quern/nn/registry.h"
#include "quern/optim/optimizer.h"

namespace quern::optim {

struct OptimizerRule {
  std::string match = "*";  // name pattern: * stands for anything
  std::string kind;         // plain, matrix, embedding, head, balance; empty = any
  Json optimizer;           // {"type": "adamw", …}; null: this parameter stays as it is
  double lr_scale = 1;
  template <class V>
  void visit(V& v) {
    v("match", match, "pattern of the parameter's name; * stands for anything");
    v("kind", kind, "plain, matrix, embedding, head or balance; empty is any");
    v("optimizer", optimizer, "{type = \"adamw\", …}; without it the parameter is frozen");
    v("lr_scale", lr_scale, "factor of the learning rate");
  }
};

struct OptimizerConfig {
  Json matrices, embeddings, others, balance;  // null: the default, see default_optimizer
  std::vector<Json> rules;                     // of OptimizerRule, asked first
  double layer_decay = 1;                      // layer l of n: lr · layer_decay^(n − 1 − l)
  bool working_copies = false;
  template <class V>
  void visit(V& v) {
    v("matrices", matrices, "optimizer of hidden matrices", {.shown_default = "muon"});
    v("embeddings", embeddings, "optimizer of embedding and LM head", {.shown_default = "adamw without decay"});
    v("others", others, "optimizer of norms, biases, convolutions", {.shown_default = "adamw without decay"});
    v("balance", balance, "optimizer of router balancing biases", {.shown_default = "balance"});
    v("rules", rules,
      "rules tried first: `{match, kind, optimizer, lr_scale}`; one without `optimizer` freezes the parameter");
    v("layer_decay", layer_decay, "factor of the learning rate per layer below the last");
    v("working_copies", working_copies, "keep a bf16 copy of every matrix in addition to its f32 value");
  }
};

// The piece of a parameter that is moved here, if not the whole of it.
struct OwnPiece {
  grad::Parameter* piece = nullptr;  // flat; null: the parameter itself
  int64_t begin = 0;
};
using PieceOf = std::function<OwnPiece(const std::string& name, grad::Parameter& p, const Optimizer& rule)>;

// All parameters of a model, in groups.
class OptimizerGroups {
 public:
  OptimizerGroups(nn::Module& model, const nn::Registry& registry, const OptimizerConfig& config,
                  const PieceOf& own = {});
  // Parameters without a gradient this step (an adapter nobody called) are left alone, their state too. Where pieces
  // are moved, whole matrices come together by `elsewhere`.
  using MatrixStep =
      std::function<void(const MatrixOptimizer& rule, std::span<OptimizerSlot* const> slots, const OptimizerStep& s)>;
  void step(const OptimizerStep& s, const MatrixStep& elsewhere = {});

  // Every part of state of every parameter: for checkpoints. `part.shape` is the declaration, `t` the buffer.
  using StateVisitor = std::function<void(const OptimizerSlot& slot, const OptimizerPart& part, Tensor& t)>;
  void visit_state(const StateVisitor& v);
  OptimizerSlot* find(const std::string& parameter);  // null when no group moves it
  int64_t state_bytes() const;
  std::string describe() const;  // a line a group: optimizer, parameters, elements, bytes of state

 private:
  struct Group {
    std::string optimizer;  // its JSON, as asked for
    std::unique_ptr<Optimizer> rule;
    std::vector<std::unique_ptr<OptimizerSlot>> slots;
  };
  std::vector<Group> groups_;
};

bool matches(std::string_view pattern, std::string_view name);  // * stands for any run of characters

}  // namespace quern::optim
