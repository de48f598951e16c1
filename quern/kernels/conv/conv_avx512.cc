// Fast convolutions in vectors of 16 floats; the bodies are in conv_rows.h.
#include "quern/kernels/conv/conv_rows.h"

namespace quern::kernels {

constinit const ConvTable conv_avx512 = kConvTable;

}  // namespace quern::kernels
