// Phases that learn from a larger model (a recipe's `distill`): the data are those of the phase; the teacher reads the same
// tokens and its logits at the learned ones are compared with the student's, a chunk of tokens at a time. With
// `distill.store` its likeliest words come from files (teacher_store.h), which store_teacher() made before.
#pragma once
#include <functional>

#include "quern/nn/registry.h"
#include "quern/train/trainer/trainer.h"

namespace quern::train {

// Source and objective for such phases; what was there before serves the others. The registry outlives them.
TrainOptions with_distillation(TrainOptions options, const nn::Registry& registry);

struct TeacherStoreReport {
  int64_t phases = 0, documents = 0, tokens = 0;  // stored now; tokens that are learned
  int64_t held = 0;                               // documents that were there, or came again
};
// Runs the teachers of all phases with a store over the data of these phases. Called again, it goes on where it ended.
TeacherStoreReport store_teacher(const Recipe& recipe, const nn::Registry& registry,
                                 const std::function<void(const TeacherStoreReport&)>& progress = {});

}  // namespace quern::train
