// ModelWrapper: forwards every call to another model; subclasses observe or change some of them. New methods of Model
// must be forwarded here too.
#pragma once
#include "quern/models/model.h"

namespace quern::models {

class ModelWrapper : public Model {
 public:
  explicit ModelWrapper(Model& inner) : inner_(inner) {}
  std::string family() const override { return inner_.family(); }
  int64_t vocab_size() const override { return inner_.vocab_size(); }
  int64_t max_positions() const override { return inner_.max_positions(); }
  Json config() const override { return inner_.config(); }
  std::vector<mixers::StateSite> sites(DType kv) const override { return inner_.sites(kv); }
  grad::Var hidden(grad::Tape& tape, std::span<const int32_t> ids, const mixers::Batch& batch) override {
    return inner_.hidden(tape, ids, batch);
  }
  grad::Var logits(grad::Tape& tape, const grad::Var& hidden_TD) override { return inner_.logits(tape, hidden_TD); }
  grad::Var loss(grad::Tape& tape, const grad::Var& hidden_TD, std::span<const int32_t> targets) override {
    return inner_.loss(tape, hidden_TD, targets);
  }
  grad::Var objective(grad::Tape& tape, const grad::Var& hidden_TD, const nn::HeadTerms& terms) override {
    return inner_.objective(tape, hidden_TD, terms);
  }
  Tensor read(const TensorFolder& folder, const std::string& name, const grad::Parameter& p) const override {
    return inner_.read(folder, name, p);
  }
  bool share_experts(comm::Communicator* group) override { return inner_.share_experts(group); }
  std::vector<std::span<const float>> expert_loads() override { return inner_.expert_loads(); }
  std::vector<std::string> other_names(const std::string& name) const override { return inner_.other_names(name); }
  std::vector<std::string> names_at_layers(const std::string& name) const override {
    return inner_.names_at_layers(name);
  }
  bool ignorable(const std::string& tensor) const override { return inner_.ignorable(tensor); }
  void visit(const std::string& prefix, const nn::ParameterVisitor& v) override { inner_.visit(prefix, v); }
  void pack(const nn::WeightPrepacking& p) override { inner_.pack(p); }

 protected:
  Model& inner_;
};

}  // namespace quern::models
