// Where the batches of a training step come from. A source hands each rank its share of the next rows, already in
// micro-batches (the rows of one forward and backward). What it hands out is a function of the recipe, of how many rows
// were drawn before and of its state, so a checkpoint keeps these.
//
// recipe_source draws from the token shards of the recipe's phase. Another source (rollouts: quern/rl) is given to the
// trainer in TrainOptions; a phase begins with a fresh one.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quern/data/samples.h"
#include "quern/mixers/ranks/context_parallel.h"
#include "quern/models/model.h"
#include "quern/train/report/metrics.h"
#include "quern/train/trainer/evaluation.h"
#include "quern/train/trainer/rank_groups.h"

namespace quern::models {
class TrainedAdapter;  // models/trained_adapter.h
}

namespace quern::train {

// What a policy loss needs of rollouts beside their tokens; entry t belongs to target t.
struct PolicyTokens {
  std::vector<float> sampled, advantage;  // log-probability when it was sampled, advantage of its answer
  std::vector<float> current;             // log-probability now by the sampling engine; empty: take the tape's
  std::vector<float> reference;           // log-probability under the reference model; empty: none
  double scale = 1;                       // of every token's loss
  double temperature = 1;
  PolicyLossConfig loss;
  nn::ExpertRoutes routes;  // empty: the routers choose
};

// Rows as one rank feeds them: all of them, or its part of every row of its context group.
struct MicroBatch {
  std::vector<int32_t> tokens, targets;  // a target below 0 is not learned
  mixers::Batch batch;
  int64_t weight = 0;                                // of its loss in the step's: the targets learned here
  std::unique_ptr<mixers::ContextParallel> context;  // null: the rows lie here whole
  std::shared_ptr<const PolicyTokens> policy = {};   // of rollouts
  // Of pairs of answers: the reference's log-probability of each document (chosen, rejected, chosen, …).
  std::shared_ptr<const std::vector<double>> reference = {};
};

// One rank's share of a step.
struct StepBatches {
  std::vector<MicroBatch> micro;
  int64_t tokens = 0;  // fed; the same tokens on several ranks of a context group count on its first
  int64_t weight() const;
};

class BatchSource {
 public:
  virtual ~BatchSource() = default;
  // Collective: all ranks ask for the same rows, which are dealt to the data-parallel groups.
  virtual StepBatches next(int64_t rows) = 0;
  virtual int64_t consumed() const = 0;  // over all ranks
  virtual void seek(int64_t consumed) = 0;
  virtual std::string describe() const = 0;
  // What else the next rows depend on, for checkpoints; restore() comes after seek(). Collective.
  virtual Json state() { return {}; }
  virtual void restore(const Json& /*state*/) {}
  virtual void report(StepMetrics& /*m*/) {}  // collective, after a step on its rows
  // Rows come from the model itself: it must be complete before they are asked for, and their losses are no likelihoods
  // that could be compared from step to step.
  virtual bool samples_from_model() const { return false; }
  // Of an evaluation set that only this source knows how to judge; nothing: by its cross entropy. Collective.
  virtual std::optional<SetLoss> evaluate(const data::DataSetConfig& /*set*/) { return {}; }
};

struct SourceRequest {
  const Recipe& recipe;
  size_t phase;
  const RankGroups& ranks;
  models::Model& model;                       // lives as long as the phase
  models::TrainedAdapter* adapter = nullptr;  // that learns beside the model; null: the model itself learns
};
using MakeSource = std::function<std::unique_ptr<BatchSource>(const SourceRequest&)>;
std::unique_ptr<BatchSource> recipe_source(const SourceRequest& request);

// Rows that were drawn for a data-parallel group, as one of its ranks feeds them.
MicroBatch micro_batch(data::TokenBatch rows, comm::Communicator* context, mixers::ContextParallelKind form);

// Throws Error for a token that is none of the model's; `where` (a phase, an evaluation set) begins the message.
void check_tokens(const data::TokenBatch& rows, const models::Model& model, const std::string& where);

// Throws Error for a data set of any phase or of the evaluation that cannot be read: a later phase's would otherwise
// be looked at for the first time hours from now.
void check_data(const Recipe& recipe);

}  // namespace quern::train
