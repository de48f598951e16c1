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

// Of the studies that train, each with defaults of its own.
template <class V>
void visit_optimizer(V& v, int64_t& steps, double& rate) {
  v("steps", steps, "number of optimizer steps", {.range = Bounds::at_least(0)});
  v("rate", rate, "learning rate");
}

}  // namespace quern::cli
