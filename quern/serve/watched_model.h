// A model that tells of every forward which tokens of which sequences it reads, before and after, and is otherwise
// the model itself. It lets the server say how far a prompt is without the engine knowing of it. What Model may learn
// beyond these calls has to be passed on here too.
#pragma once
#include <functional>

#include "quern/models/model.h"

namespace quern {

class WatchedModel final : public Model {
 public:
  // A stretch of one sequence: its tokens, and the position of the first of them.
  using Seen = std::function<void(std::span<const int32_t> ids, int64_t at, bool read)>;
  WatchedModel(Model& model, Seen seen) : model_(model), seen_(std::move(seen)) {}

  Var hidden(Tape& tape, std::span<const int32_t> ids, const Batch& batch) override;
  std::string family() const override { return model_.family(); }
  int64_t vocab_size() const override { return model_.vocab_size(); }
  int64_t max_positions() const override { return model_.max_positions(); }
  Json config() const override { return model_.config(); }
  std::vector<StateSite> sites(DType kv) const override { return model_.sites(kv); }
  Var logits(Tape& tape, const Var& hidden_TD) override { return model_.logits(tape, hidden_TD); }
  Var loss(Tape& tape, const Var& hidden_TD, std::span<const int32_t> targets) override {
    return model_.loss(tape, hidden_TD, targets);
  }
  Tensor read(const TensorFolder& folder, const std::string& name, const Parameter& p) const override {
    return model_.read(folder, name, p);
  }
  bool ignorable(const std::string& tensor) const override { return model_.ignorable(tensor); }
  void visit(const std::string& prefix, const ParameterVisitor& v) override { model_.visit(prefix, v); }
  void pack(const Packing& p) override { model_.pack(p); }

 private:
  void tell(std::span<const int32_t> ids, const Batch& batch, bool read);
  Model& model_;
  Seen seen_;
};

}  // namespace quern
