// Which problems of environments a verb takes: flags of gym sample and gym eval.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "quern/base/setting.h"

namespace quern::cli {

struct GymProblemFlags {
  std::optional<std::string> difficulty = {};
  std::string split = "train";
  int64_t seed = 0;
  template <class V>
  void visit(V& v) {
    v("difficulty", difficulty, "difficulty of the problems, 0 or more, or a range such as 2-6",
      {.value = "D", .shown_default = "0-4"});
    v("split", split, "problem split: train, dev or test, which share no problem", {.value = "NAME"});
    v("seed", seed, "random seed of problems, and of sampling from a model");
  }
};

}  // namespace quern::cli
