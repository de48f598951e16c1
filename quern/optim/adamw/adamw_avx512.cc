// Fast AdamW update in vectors of 16 floats; the body is in adamw_rows.h.
#include "quern/optim/adamw/adamw_rows.h"

namespace quern::optim {

constinit const AdamWTable adamw_avx512 = {update};

}  // namespace quern::optim
