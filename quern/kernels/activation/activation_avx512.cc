// Fast activations in vectors of 16 floats; the bodies are in activation_rows.h.
#include "quern/kernels/activation/activation_rows.h"

namespace quern::kernels {

constinit const ActivationTable activation_avx512 = kActivationTable;

}  // namespace quern::kernels
