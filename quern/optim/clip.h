// Global L2 norm of gradients, summed in a fixed order: blocks of constant size, then the block sums in double. The
// same bits for any thread count.
#pragma once
#include <span>

#include "quern/nn/module.h"

namespace quern::optim {

double sum_of_squares(std::span<const float> x);
double grad_norm(nn::Module& model);  // over trainable parameters that have a gradient
// The factor that brings a norm down to `limit`, 1 below it: OptimizerStep::grad_scale.
double clip_scale(double norm, double limit);
// Scales all gradients so that their joint norm is at most `limit`; returns the norm before.
double clip_grad_norm(nn::Module& model, double limit);

}  // namespace quern::optim
