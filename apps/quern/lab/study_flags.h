// Flags of several research studies.
#pragma once
#include <cstdint>

#include "quern/base/setting.h"

namespace quern::cli {

struct SeedCount {
  int64_t seeds = 1;
  template <class V>
  void visit(V& v) {
    v("seeds", seeds, "number of seeds to average over");
  }
};

}  // namespace quern::cli
