// The model of a run with what moves it: its optimizers, and with parallel.zero = 1 the shards of their state over
// ranks (zero.h). A phase of the recipe may change the model's configuration; values and optimizer state stay. With
// [adapter] the model is loaded as for inference and stays as it is: an adapter learns beside it.
#pragma once
#include <memory>

#include "quern/models/model.h"
#include "quern/models/trained_adapter.h"
#include "quern/nn/registry.h"
#include "quern/optim/groups.h"
#include "quern/train/recipe/recipe.h"
#include "quern/train/zero/zero.h"

namespace quern::models {
struct LoadOptions;  // models/checkpoint.h
}

namespace quern::train {

// How the base of the recipe's adapter is loaded, without the adapter.
models::LoadOptions base_of_adapter(const Recipe& recipe);

class TrainedModel {
 public:
  // The recipe's [model]: weights of a folder, or new ones drawn from the recipe's seed. All outlive this.
  TrainedModel(const Recipe& recipe, const nn::Registry& registry, comm::Communicator& comm);

  models::Model& model() { return *model_; }
  models::TrainedAdapter* adapter() { return adapter_.get(); }  // null: the model itself learns
  nn::Module& learner() { return adapter_ ? static_cast<nn::Module&>(*adapter_) : *model_; }  // what optimizers move
  optim::OptimizerGroups& optimizer() { return *optimizer_; }
  ZeroShards* shards() { return shards_.get(); }  // null: every rank moves everything
  const Json& config() const { return config_; }  // of the model, with the phase's changes

  void change(const PhaseConfig& phase);     // to the model configuration of a phase
  void step(const optim::OptimizerStep& s);  // the optimizers move the parameters by their gradients
  void zero_grad();                          // also of what counts beside a frozen model
  void settle();                             // all values of this rank's model are the newest

 private:
  void load_beside_adapter();
  void adopt(models::Model& other);  // its parameters' values
  std::unique_ptr<optim::OptimizerGroups> make_optimizer();

  const Recipe& recipe_;
  const nn::Registry& registry_;
  comm::Communicator& comm_;
  Json base_config_, config_;  // before and with the phase's changes
  std::unique_ptr<models::TrainedAdapter> adapter_;
  std::unique_ptr<models::Model> model_;
  std::unique_ptr<ZeroShards> shards_;
  std::unique_ptr<optim::OptimizerGroups> optimizer_;
};

}  // namespace quern::train
