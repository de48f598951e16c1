// A small model of windowed attention and a memory under test (memory_model.h) is trained on a task with few items and
// tested on many; an OVQ memory also with other dictionary sizes than it was trained with.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "lab/ovq/association.h"
#include "lab/ovq/memory_model.h"
#include "quern/base/json.h"
#include "quern/nn/registry.h"

namespace quern::lab {

struct AssociationOptions {
  Association task = Association::mqar;
  MemoryOfStudy memory{};
  int64_t blocks = 1;                                                             // of two layers each
  std::vector<int64_t> train = {4, 8, 16, 32}, test = {8, 16, 32, 64, 128, 256};  // things to remember
  std::vector<int64_t> test_rows = {};                                            // besides the memory's own
  Lessons lessons{};
  int64_t easy_steps = 300, test_sequences = 64;
  uint64_t seed = 0;
};

struct AssociationOutcome {
  struct Row {
    int64_t rows = 0;              // of the dictionary asked
    std::vector<double> accuracy;  // for every number of `test`
  };
  std::vector<Row> accuracy;
  int64_t state_floats = 0, parameters = 0;
  double loss = 0, seconds = 0;  // of the last step; of learning
};

Json association_model(const AssociationOptions& o, int64_t rows);  // config.json of the model
AssociationOutcome study_association(const nn::Registry& registry, const AssociationOptions& o,
                                     const std::function<void(int64_t step, double loss)>& progress);

}  // namespace quern::lab
