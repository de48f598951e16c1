// Definition of quantized multiplication, number by number from the layout. Arguments are checked by the caller.
#pragma once
#include "quern/kernels/quant/quant_layout.h"
#include "quern/tensor/view.h"

namespace quern::kernels {

float quant_weight(const QuantLayout& l, const uint8_t* blob, int64_t i, int64_t p);  // W[i, p], rounded to f32 once
void quant_apply_ref(const QuantLayout& l, const uint8_t* blob, bool int8_rows, View<const float, 2> x,
                     View<const float, 1> bias, View<float, 2> y);

}  // namespace quern::kernels
