// Whether backward() adds to the gradients of the weights; those of a frozen network are left alone.
#pragma once

namespace quern {

enum class WeightGradients { add, frozen };

}  // namespace quern
