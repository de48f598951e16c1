// Products with prepacked weights on a tape: y = x·Wᵀ + b where W, in whatever form, does not learn. gx = gy·W takes W
// back to f32 some rows at a time, so that a quantized base needs no second copy.
#pragma once
#include <vector>

#include "quern/grad/tape.h"
#include "quern/kernels/quant/prepacked_weight.h"

namespace quern::nn {

// W as it multiplies, in f32: rows [begin, begin + out.shape[0]).
void unpack_rows(const kernels::PrepackedWeight& w, int64_t begin, View<float, 2> out_NK);
Tensor unpacked(const kernels::PrepackedWeight& w);

// bias may be undefined. Several widths: the columns of y, in order, as values of their own. Where nothing is recorded
// these are windows of one buffer.
std::vector<grad::Var> frozen_linear(grad::Tape& tape, const grad::Var& x_TK, const kernels::PrepackedWeight& w,
                                     const Tensor& bias, const std::vector<int64_t>& widths);

}  // namespace quern::nn
