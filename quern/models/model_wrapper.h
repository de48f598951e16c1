// ModelWrapper: forwards every call to another model; subclasses observe or change some of them. New methods of Model
// must be forwarded here too.
#pragma once
#include "quern/models/model.h"

namespace quern {

class ModelWrapper : public Model {
 public:
  explicit ModelWrapper(Model& inner) : inner_(inner) {}
  std::string family() const override { return inner_.family(); }
  int64_t vocab_size() const override { return inner_.vocab_size(); }
  int64_t max_positions() const override { return inner_.max_positions(); }
  Json config() const override { return inner_.config(); }
  std::vector<StateSite> sites(DType kv) const override { return inner_.sites(kv); }
  Var hidden(Tape& tape, std::span<const int32_t> ids, const Batch& batch) override {
    return inner_.hidden(tape, ids, batch);
  }
  Var logits(Tape& tape, const Var& hidden_TD) override { return inner_.logits(tape, hidden_TD); }
  Var loss(Tape& tape, const Var& hidden_TD, std::span<const int32_t> targets) override {
    return inner_.loss(tape, hidden_TD, targets);
  }
  Tensor read(const TensorFolder& folder, const std::string& name, const Parameter& p) const override {
    return inner_.read(folder, name, p);
  }
  bool share_experts(Communicator* group) override { return inner_.share_experts(group); }
  std::vector<std::span<const float>> expert_loads() override { return inner_.expert_loads(); }
  bool ignorable(const std::string& tensor) const override { return inner_.ignorable(tensor); }
  void visit(const std::string& prefix, const ParameterVisitor& v) override { inner_.visit(prefix, v); }
  void pack(const WeightPrepacking& p) override { inner_.pack(p); }

 protected:
  Model& inner_;
};

}  // namespace quern
