// filter, extract and annotate from their settings: what a verb runs in one process, and a plan in many (corpus/tasks).
#pragma once
#include <optional>
#include <string>

#include "quern/corpus/stages/annotate.h"
#include "quern/corpus/stages/filter_stage.h"
#include "quern/corpus/stages/recipe.h"

namespace quern::corpus {

struct RowStage {
  std::string verb;                       // filter, extract, annotate
  bool rejects = false, reasons = false;  // as FilterRun's
  std::optional<AnnotateSettings> annotate = {};
  template <class V>
  void visit(V& v) {
    v("verb", verb), v("rejects", rejects), v("reasons", reasons), v("annotate", annotate);
  }
};

// The recipe's one source stands for all inputs: its fields, and, where nothing is annotated, its filter. Models and side
// files are loaded. `to` has no folder yet.
FilterRun row_stage_run(const CorpusRecipe& recipe, const RowStage& stage, const Inputs& inputs);

// What the manifest says of it.
Json row_stage_json(const CorpusRecipe& recipe, const RowStage& stage, const Inputs& inputs, const FilterReport& r);

}  // namespace quern::corpus
