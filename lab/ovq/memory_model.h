// What the studies of trained memories share: two layers per block, attention with a window of 16 and the memory under
// test, of width 64 and one head; initialization; training (AdamW, linear decay, gradients clipped at 1).
#pragma once
#include <functional>
#include <map>
#include <string>

#include "lab/ovq/dictionary_settings.h"
#include "quern/base/json.h"
#include "quern/nn/module.h"
#include "quern/nn/registry.h"

namespace quern::lab {

constexpr int64_t kMemoryWidth = 64, kLessonTokens = 2048;  // of a model, and of a step

struct MemoryOfStudy {
  std::string kind = "ovq";  // softmax, ovq, vq, delta, gated-delta, linear
  int64_t rows = 64, chunk = 32;
  std::string growth = "plateau";
  bool count_bias = true, spread = true;
  std::map<std::string, Json> fields = {};  // of the mixer, in place of what the kind says
  template <class V>
  void visit(V& v) {
    OffSwitch random_rows(spread);
    v("memory", kind, "memory under test: softmax, ovq, vq, delta, gated-delta or linear", {.value = "NAME"});
    visit_dictionary(v, rows, chunk);
    v("growth", growth, "ovq: growth of the dictionary: plateau, greedy or linear", {.value = "NAME"});
    visit_count_bias(v, count_bias);
    v("random_rows", random_rows, "ovq: open new rows at randomly chosen tokens");
  }
};

// The mixer's JSON; `longest` sequence it will see, which softmax attention needs to know.
Json memory_mixer(const MemoryOfStudy& m, int64_t longest);
Json near_mixer();

// Matrices at 1/√(3k), embeddings at 0.1: with the usual 0.02 so narrow a model starts too flat.
void start_weights(nn::Module& m, uint64_t seed);

struct Lessons {
  int64_t steps = 1500, warmup = 100;
  double rate = 2e-3;
};
// Returns the last step's loss; throws Error when one is not finite.
double learn(nn::Module& m, const nn::Registry& registry, const Lessons& l,
             const std::function<grad::Var(grad::Tape& tape, int64_t step)>& loss,
             const std::function<void(int64_t step, double loss)>& progress);

}  // namespace quern::lab
