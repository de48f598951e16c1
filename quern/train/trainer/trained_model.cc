#include "quern/train/trainer/trained_model.h"

#include <map>

#include "quern/models/checkpoint.h"
#include "quern/models/config_file.h"
#include "quern/models/config_overrides.h"
#include "quern/train/zero/zero_matrices.h"

namespace quern::train {

models::LoadOptions base_of_adapter(const Recipe& recipe) {
  models::LoadOptions o;
  // A folder that is quantized already stays as it is, unless a format is asked for.
  const std::string format = recipe.adapter.base.empty() ? recipe.dtype : recipe.adapter.base;
  if (format == "f32" || format == "bf16")
    o.dtype = format == "bf16" ? DType::bf16 : DType::f32;
  else
    o.scheme = kernels::QuantFormat(kernels::parse_format(format, "adapter.base"));
  return o;
}

TrainedModel::TrainedModel(const Recipe& recipe, const nn::Registry& registry, comm::Communicator& comm)
    : recipe_(recipe), registry_(registry), comm_(comm) {
  const ModelSource& m = recipe_.model;
  const models::LoadOptions plain{.dtype = DType::f32, .pack = false};
  const bool trained = !m.from.empty() && !m.fresh;
  if (!m.from.empty()) base_config_ = models::read_config_file(recipe_.base / m.from / "config.json");
  if (!m.config.is_null())
    base_config_ = base_config_.is_null() ? m.config : models::override_config(registry_, base_config_, m.config);
  config_ = models::override_config(registry_, base_config_, recipe_.phase[0].config);
  if (recipe_.adapter.on()) {
    load_beside_adapter();
  } else if (trained && m.config.is_null() && config_ == base_config_) {
    model_ = models::load_model(registry_, recipe_.base / m.from, plain);
  } else {
    model_ = models::build_model(registry_, config_);
    if (trained)
      adopt(*models::load_model(registry_, recipe_.base / m.from, plain));
    else
      nn::initialize(*model_, static_cast<uint64_t>(recipe_.seed));
  }
  optimizer_ = make_optimizer();
}

void TrainedModel::load_beside_adapter() {
  adapter_ = std::make_unique<models::TrainedAdapter>(recipe_.adapter, static_cast<uint64_t>(recipe_.seed));
  models::LoadOptions o = base_of_adapter(recipe_);
  o.paths = adapter_.get();
  model_ = models::load_model(registry_, recipe_.base / recipe_.model.from, o);
  adapter_->finish();
}

std::unique_ptr<optim::OptimizerGroups> TrainedModel::make_optimizer() {
  if (recipe_.parallel.zero == 0 || comm_.size() == 1)
    return std::make_unique<optim::OptimizerGroups>(learner(), registry_, recipe_.optimizer);
  shards_ = std::make_unique<ZeroShards>(learner(), comm_, recipe_.parallel.bucket);
  return std::make_unique<optim::OptimizerGroups>(
      learner(), registry_, recipe_.optimizer,
      [this](const std::string& name, grad::Parameter& p, const optim::Optimizer& rule) {
        return shards_->own(name, p, rule);
      });
}

void TrainedModel::adopt(models::Model& other) {
  std::map<std::string, Tensor> values;
  other.visit("", [&](const std::string& name, grad::Parameter& p) { values[name] = p.value; });
  model_->visit("", [&](const std::string& name, grad::Parameter& p) {
    auto v = values.find(name);
    if (v == values.end() || v->second.shape() != p.shape)
      fail("the changed configuration needs {} {}, which the model before it has not: changes may not change shapes",
           name, to_string(p.shape));
    p.value = v->second;
  });
}

void TrainedModel::change(const PhaseConfig& phase) {
  settle();
  Json wanted = models::override_config(registry_, base_config_, phase.config);
  if (wanted == config_) return;
  const std::unique_ptr<models::Model> before = std::move(model_);
  config_ = std::move(wanted);
  model_ = models::build_model(registry_, config_);
  adopt(*before);
  std::map<std::pair<std::string, std::string>, Tensor> state;
  optimizer_->visit_state([&](const optim::OptimizerSlot& s, const optim::OptimizerPart& part, Tensor& t) {
    state[{s.name, part.role}] = t;
  });
  optimizer_.reset();  // its slots look at the old shards
  optimizer_ = make_optimizer();
  optimizer_->visit_state([&](const optim::OptimizerSlot& s, const optim::OptimizerPart& part, Tensor& t) {
    if (auto old = state.find({s.name, part.role}); old != state.end()) t.copy_from(old->second);
  });
}

void TrainedModel::step(const optim::OptimizerStep& s) {
  if (!shards_) return optimizer_->step(s);
  optimizer_->step(s, [&](const optim::MatrixOptimizer& rule, std::span<optim::OptimizerSlot* const> slots,
                          const optim::OptimizerStep& o) {
    step_matrices(comm_, rule, slots, o, [&](const grad::Parameter& p, int rank) { return shards_->piece(p, rank); });
  });
  shards_->gather();
}

void TrainedModel::zero_grad() {
  nn::zero_grad(*model_);
  if (adapter_) nn::zero_grad(*adapter_);
}

void TrainedModel::settle() {
  if (shards_) shards_->settle();
}

}  // namespace quern::train
