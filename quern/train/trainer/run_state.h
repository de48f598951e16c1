// Where a run stands: what a checkpoint keeps beside the tensors, so that a resumed run goes on as an uninterrupted
// one would have.
#pragma once
#include <map>
#include <string>

#include "quern/train/trainer/loss_spike_detector.h"

namespace quern::train {

struct RunState {
  int64_t done = 0, tokens = 0;          // steps finished, tokens seen
  size_t phase = 0;                      // that the model and the source are of
  int64_t consumed = 0;                  // rows the phase's source has handed out
  Json source = {};                      // what else its next rows depend on
  std::map<int64_t, int64_t> rollbacks;  // how often training went back to the checkpoint of a step
};

// `state` of a checkpoint. ranks and config (the model's) are kept for whoever reads it.
Json write_run_state(const RunState& s, const LossSpikeDetector& spikes, int64_t ranks, const Json& config);
// `where` names the checkpoint in messages; `done` is the checkpoint's step.
RunState read_run_state(const Json& j, int64_t done, LossSpikeDetector& spikes, const std::string& where);

}  // namespace quern::train
