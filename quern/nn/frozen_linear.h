// Products with prepacked weights on a tape: y = x·Wᵀ + b where W, in whatever form, does not learn. gx = gy·W takes W
// back to f32 a piece at a time, so that a quantized base needs no second copy.
#pragma once
#include <vector>

#include "quern/grad/tape.h"
#include "quern/kernels/quant/prepacked_weight.h"

namespace quern::nn {

Tensor unpacked(const kernels::PrepackedWeight& w);  // W as it multiplies, in f32

// bias may be undefined. Several widths: the columns of y, in order, as values of their own. Where nothing is recorded
// these are windows of one buffer.
std::vector<grad::Var> frozen_linear(grad::Tape& tape, const grad::Var& x_TK, const kernels::PrepackedWeight& w,
                                     const Tensor& bias, const std::vector<int64_t>& widths);

}  // namespace quern::nn
