// The gradients of one step: backward over this rank's micro-batches, then their sum over ranks.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "quern/train/trainer/objective.h"
#include "quern/train/trainer/rank_groups.h"
#include "quern/train/trainer/trained_model.h"

namespace quern::train {

grad::Precision precision_of(const Recipe& recipe);  // of its large products

struct BackwardOptions {
  int64_t weight = 1;  // of the whole step, over all ranks: what a micro-batch's weight is a share of
  grad::Precision precision = grad::Precision::f32;
  bool recompute = false;                 // keep no layer's inner values, compute them again
  comm::Communicator* experts = nullptr;  // ranks that share the experts of this step
  uint64_t draw = 0;                      // of this step on this rank: what an adapter's dropout follows
};
struct BackwardResult {
  double loss = 0;  // this rank's part of the step's loss
  double forward_s = 0, backward_s = 0;
};
// Adds to the gradients of the model's parameters.
BackwardResult backward(TrainedModel& trained, const Objective& objective, std::span<const MicroBatch> batches,
                        const BackwardOptions& options);

// Collective: gradients become their sums over ranks, in rank order or in two levels (parallel.two_level_from). Returns
// the sum of the ranks' losses.
double reduce_gradients(TrainedModel& trained, const RankGroups& ranks, int64_t two_level_from, double loss);
double gradient_norm(TrainedModel& trained);  // collective, after reduce_gradients

// How even the experts' loads are: entropy by its greatest value, mean over layers; absent without loads.
std::optional<double> load_balance(const std::vector<std::span<const float>>& loads);

}  // namespace quern::train
