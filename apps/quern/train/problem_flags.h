// Which synthetic problems a verb makes: flags of data curriculum, data attempts and eval.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "quern/base/setting.h"

namespace quern::cli {

struct ProblemFlags {
  std::string level = "1-5", split = "heldout";
  std::vector<std::string> kinds = {};
  int64_t seed = 0;
  template <class V>
  void visit(V& v) {
    v("level", level, "difficulty level, 1 (easy) to 5, or a range such as 2-4", {.value = "N"});
    v("kind", kinds, "use only problems of this kind; repeatable", {.value = "KIND", .shown_default = "all"});
    v("split", split, "problem split: train or heldout, which share no problem", {.value = "NAME"});
    v("seed", seed, "random seed of problems and sampling");
  }
};

}  // namespace quern::cli
