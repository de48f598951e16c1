// Trainer: runs a recipe step by step:
//   source     each rank takes its share of the step's sequences, in micro-batches (batch_source.h)
//   objective  the loss of a micro-batch (objective.h)
//   backward   forward and backward over the micro-batches: gradient accumulation (gradients.h)
//   reduce     gradients are summed over ranks, in rank order
//   step       gradients are clipped and the optimizers update the parameters (trained_model.h)
//   record     metrics, checkpoints, evaluations (recorder.h, run_state.h, evaluation.h)
// Source and objective can be replaced (TrainOptions); everything else stays the same. RUN holds recipe.json,
// metrics.jsonl, TensorBoard events, checkpoints (step_N/) and finally model/, a Hugging Face folder.
//
// A resumed run is bit-identical to an uninterrupted one: everything a step depends on is in the checkpoint. A loss
// that is not finite or stays high (LossSpikeDetector) rolls the run back to its last checkpoint; the sequences since
// then are not used again. After max_rollbacks rollbacks to the same checkpoint, training stops.
//
// Ranks are data-parallel: each takes its share of a step's sequences; with parallel.context, groups of ranks share
// each sequence (docs/parallel.md). All ranks construct and step together.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>

#include "quern/nn/registry.h"
#include "quern/train/report/metrics.h"
#include "quern/train/trainer/heartbeat.h"
#include "quern/train/trainer/objective.h"

namespace quern::train {

struct TrainOptions {
  std::filesystem::path out;  // RUN
  bool resume = false;        // from the newest committed checkpoint in RUN; without one the run begins
  // Called on rank 0 with sentences a person should see.
  std::function<void(const std::string&)> say = [](const std::string&) {};
  Heartbeat* heartbeat = nullptr;  // this rank's: told where the rank stands
  MakeSource source = recipe_source;
  Objective objective = next_token_loss;
};

bool holds_run(const std::filesystem::path& out);  // a run that began there, or a checkpoint

class Trainer {
 public:
  Trainer(const Recipe& recipe, const nn::Registry& registry, comm::Communicator& comm, TrainOptions options);
  ~Trainer();

  int64_t steps() const;     // of the recipe
  int64_t finished() const;  // steps done
  bool step();               // false: the recipe is done. Throws Error when training cannot go on
  const StepMetrics& last() const;
  const std::vector<EvalMetrics>& evaluations() const;  // the last ones
  models::Model& model();
  int64_t parameters() const;
  std::string describe() const;  // model, data, optimizers: what a person reads before the first step

  // Now, whatever the recipe says; returns when it is committed. A step that is saved already is saved once more only
  // by checkpoint_again() (docs/checkpoints.md: step_N.2).
  void checkpoint();
  void checkpoint_again();
  void evaluate();
  // With its tokenizer (export.h); an adapter as a PEFT folder, in f32.
  void export_model(const std::filesystem::path& folder, DType dtype);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quern::train
