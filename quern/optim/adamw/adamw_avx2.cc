// Fast AdamW update in vectors of 8 floats; the body is in adamw_rows.h.
#include "quern/optim/adamw/adamw_rows.h"

namespace quern::optim {

constinit const AdamWTable adamw_avx2 = {update};

}  // namespace quern::optim
