#include "quern/mixers/row_placement.h"

#include "quern/base/error.h"

namespace quern::mixers {

void RowPlacement::require_whole_segments(const char* mixer) const {
  if (context_parallel()) fail("{}: context parallelism (parallel.context) is not supported by this mixer", mixer);
}

}  // namespace quern::mixers
