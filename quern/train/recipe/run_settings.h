// What a training run is given besides its recipe; flags of `quern train` and options of the C interface.
#pragma once
#include <string>
#include <vector>

#include "quern/base/setting.h"

namespace quern::train {

struct RunSettings {
  std::string out;
  std::vector<std::string> set = {};
  bool resume = false;
  template <class V>
  void visit(V& v) {
    v("out", out, "folder of the run", {.value = "DIR"});
    v("set", set, "change a field of the recipe, for example phase.0.batch_size=8; repeatable",
      {.value = "KEY=VALUE"});
    v("resume", resume, "continue from the newest checkpoint of the run");
  }
};

}  // namespace quern::train
