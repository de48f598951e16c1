// Fast convolutions in vectors of 8 floats; the bodies are in conv_rows.h.
#include "quern/kernels/conv/conv_rows.h"

namespace quern::kernels {

constinit const ConvTable conv_avx2 = kConvTable;

}  // namespace quern::kernels
