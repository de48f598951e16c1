// Whether backward() adds to the gradients of the weights; those of a frozen network are left alone.
#pragma once

namespace quern::lab {

enum class WeightGradients { add, frozen };

}  // namespace quern::lab
