// What a training step of a shape costs on a machine: memory of a device by part, seconds by part, and what follows from
// them for storage and checkpoints. Data parallel over all ranks, optimizer state sharded over them (ZeRO stage 1).
#pragma once
#include <cstdint>

#include "quern/plan/machine.h"
#include "quern/plan/shape.h"

namespace quern::plan {

struct Batch {
  int64_t sequences = 32, context = 512;  // of a step, over all ranks
  int64_t micro = 1;                      // sequences of one device at a time
  int64_t tokens() const { return sequences * context; }
};

struct Memory {  // bytes of one device
  double weights = 0, gradients = 0, optimizer = 0, activations = 0;
  double total() const { return weights + gradients + optimizer + activations; }
};
Memory memory(const ModelShape& s, const Machine& m, const Batch& b);
// The most sequences at a time that fit beside weights and optimizer state; 0: none does.
int64_t largest_micro(const ModelShape& s, const Machine& m, const Batch& b);

struct StepTime {  // seconds
  double products = 0, attention = 0, other = 0, optimizer = 0;
  double communication = 0;  // of which `exposed` is not hidden behind the backward pass
  double exposed = 0, loading = 0;
  double achieved = 1;  // Machine::achieved
  double total() const { return (products + attention + other + optimizer + exposed + loading) / achieved; }
};
StepTime step_time(const ModelShape& s, const Machine& m, const Batch& b);

// The smallest bucket of gradients whose all-reduce reaches 95 % of the bandwidth; 0 without a network.
double bucket_bytes(const Machine& m);

struct Loading {                // as in the storage model of the published training report
  double bytes = 0, pages = 0;  // of a step; pages of 4 KiB in order
  double iops = 0;              // that scattered reads would need
  double min_step_s = 0;        // below which the storage is the limit, each page read on its own
};
Loading loading(const Machine& m, const Batch& b, double step_s, double bytes_per_token = 4);

struct Checkpoint {
  double bytes = 0, save_s = 0, mtbf_s = 0;
  double every_s = 0;     // Young and Daly: √(2 · save · MTBF); 0 where failures are not known
  double lost_share = 0;  // of the time: saves, and work done again
};
Checkpoint checkpoint(const ModelShape& s, const Machine& m);

}  // namespace quern::plan
