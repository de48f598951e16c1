// Training tasks of the stacks. An answer is asked for at the last step; every channel has noise at every step.
//   motif    (0) three ramps, up or down, one after the other, (1–3) which of them is on, (4) recall flag: which
//            direction had the majority? A ramp takes 3 steps and a gap 2; then a delay of D steps, then the recall.
//   evidence (0) left, (1) right, (2) recall flag: seven cues, each to one side for two steps, a step apart; then a
//            delay of D steps, then the recall: which side had more?
//   recall   (0) a value, +1 or −1, (1) store flag at step 0, (2) recall flag after D further steps: which value?
#pragma once
#include <string_view>

#include "lab/eprop/stack.h"

namespace quern::lab {

enum class EpropTask { motif, recall, evidence };
EpropTask eprop_task(std::string_view name);  // throws Error

struct EpropTaskOptions {
  EpropTask task = EpropTask::motif;
  int64_t delay = 12;
  double amplitude = 2, noise = 0.15;  // amplitude: of motif's ramps
};
int64_t task_inputs(EpropTask task);
Episodes draw_episodes(const EpropTaskOptions& o, int64_t batch, Rng& rng);

}  // namespace quern::lab
