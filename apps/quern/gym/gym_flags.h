// Which problems a verb takes: flags of gym sample, gym eval, gym verify and eval.
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

// Of gym eval, and of eval with a task file.
struct SamplesFlag {
  int64_t samples = 1;
  template <class V>
  void visit(V& v) {
    v("samples", samples, "samples of each problem, for pass@k with k = 1, 2, 4, … up to K", {.value = "K"});
  }
};

struct TaskFileFlag {
  std::string tasks = {};
  template <class V>
  void visit(V& v) {
    v("tasks", tasks, "task file: JSON lines of questions with their verifiers and answers", {.value = "FILE"});
  }
};

}  // namespace quern::cli
