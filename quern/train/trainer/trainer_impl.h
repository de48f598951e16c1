// Inside of Trainer: a run in progress. The parts do the work; here is what passes between them.
#pragma once
#include "quern/comm/communicator.h"
#include "quern/train/checkpoint/writer.h"
#include "quern/train/trainer/evaluation.h"
#include "quern/train/trainer/gradients.h"
#include "quern/train/trainer/recorder.h"
#include "quern/train/trainer/run_state.h"
#include "quern/train/trainer/trained_model.h"
#include "quern/train/trainer/trainer.h"

namespace quern::train {

struct Trainer::Impl {
  const Recipe recipe;
  comm::Communicator& comm;
  TrainOptions o;
  RankGroups ranks;
  TrainedModel trained;
  std::unique_ptr<BatchSource> source;  // of the phase
  std::unique_ptr<CheckpointWriter> writer;
  Recorder recorder;
  LossSpikeDetector spikes;
  RunState state;
  int64_t saved = -1;                    // step of the newest save
  double flops_per_token = 0, peak = 0;  // rank 0's
  double text_bytes = 0;                 // of a token, in the phase's data; 0: unknown
  StepMetrics last;
  std::vector<EvalMetrics> evals;

  Impl(const Recipe& recipe, const nn::Registry& registry, comm::Communicator& comm, TrainOptions options);

  bool step();
  void record(StepMetrics m, int64_t fed);  // fed: tokens of this step
  void evaluate();
  void event(const std::string& kind, const std::string& text);
  void enter(Section s);
  void finish();

  // trainer_run.cc
  const PhaseConfig& phase() const { return recipe.phase[state.phase]; }
  void enter_phase(size_t i);  // its model, its source
  void follow_phases();        // into the phase of the next step
  void measure_work();         // collective
  void save();
  void restore(const std::filesystem::path& checkpoint);
  void go_back(const std::string& why);  // to the newest checkpoint; throws BadNumbers when that was tried enough
  double wait_for_save();                // seconds waited, where the recipe bounds what a kill may lose
};

}  // namespace quern::train
