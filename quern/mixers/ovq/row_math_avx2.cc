// Fast row loops in vectors of 8 floats; the bodies are in row_math_rows.h.
#include "quern/mixers/ovq/row_math_rows.h"

namespace quern::mixers {

constinit const RowMathTable row_math_avx2 = kRowMathTable;

}  // namespace quern::mixers
