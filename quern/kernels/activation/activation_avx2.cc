// Fast activations in vectors of 8 floats; the bodies are in activation_rows.h.
#include "quern/kernels/activation/activation_rows.h"

namespace quern::kernels {

constinit const ActivationTable activation_avx2 = kActivationTable;

}  // namespace quern::kernels
