// Fast softmax in vectors of 8 floats; the bodies are in softmax_rows.h.
#include "quern/kernels/softmax/softmax_rows.h"

namespace quern::kernels {

constinit const SoftmaxTable softmax_avx2 = kSoftmaxTable;

}  // namespace quern::kernels
