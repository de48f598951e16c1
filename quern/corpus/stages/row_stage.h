// filter, extract, annotate and decontaminate from their settings: what a verb runs in one process, and a plan in many (corpus/tasks).
#pragma once
#include <optional>
#include <string>

#include "quern/corpus/stages/annotate.h"
#include "quern/corpus/stages/decontaminate.h"
#include "quern/corpus/stages/filter_stage.h"
#include "quern/corpus/stages/recipe.h"

namespace quern::corpus {

struct RowStage {
  std::string verb;                       // filter, extract, annotate, decontaminate
  bool rejects = false, reasons = false;  // as FilterRun's
  std::optional<AnnotateSettings> annotate = {};
  std::optional<DecontaminateSettings> decontaminate = {};
  template <class V>
  void visit(V& v) {
    v("verb", verb), v("rejects", rejects), v("reasons", reasons), v("annotate", annotate);
    v("decontaminate", decontaminate);
  }
};

ScanOptions row_scan(const CorpusRecipe& recipe);  // by the fields of its one source

struct RowStageRun {
  FilterRun run;                        // `to` has no folder yet
  Json settings;                        // what the manifest says of them
  Benchmarks benchmarks;                // of decontaminate
  std::vector<std::string> notes = {};  // on side files of annotate
};
// The recipe's one source stands for all inputs: its fields, and for filter and extract its filter. Models, side files and
// benchmarks are loaded.
RowStageRun row_stage_run(const CorpusRecipe& recipe, const RowStage& stage, const Inputs& inputs);

// The manifest, but for the names of files.
Json row_stage_json(const Json& settings, const Inputs& inputs, const FilterReport& r);

}  // namespace quern::corpus
