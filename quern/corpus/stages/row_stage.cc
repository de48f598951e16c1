#include "quern/corpus/stages/row_stage.h"

#include <fmt/format.h>

#include "quern/corpus/bytes/hashing.h"
#include "quern/corpus/filters/filters.h"
#include "quern/corpus/run/run_folder.h"

namespace quern::corpus {
namespace {

const SourceSettings& source_of(const CorpusRecipe& recipe) { return recipe.source.at(0); }

ScanOptions scan_of(const CorpusRecipe& recipe) {
  ScanOptions o;
  o.fields[0].text = source_of(recipe).text_field, o.fields[0].url = source_of(recipe).url_field;
  o.read = recipe.read.policy();
  return o;
}

FilterRun annotate_run(const CorpusRecipe& recipe, AnnotateSettings s, const Inputs& in) {
  FilterRun run{.make = find_filter(s.filter, recipe.lists), .what = {}, .scan = scan_of(recipe), .to = {}};
  run.what = fmt::format("annotate {} {} {}", write_value(s).dump(), recipe.lists,
                         filter_models_text(s.filter, recipe.lists));
  if (!s.classifier.empty()) run.what += fmt::format(" {:016x}", file_hash(s.classifier));
  if (!s.labels.empty()) run.what = run_identity(find_inputs(s.labels, "auto", "labels"), run.what);
  run.keep_all = true;
  std::vector<std::string> rules;
  if (run.make)
    for (const char* r : run.make()->rules()) rules.emplace_back(r);
  run.columns = annotate_columns(s, in, rules);
  return run;
}

}  // namespace

FilterRun row_stage_run(const CorpusRecipe& recipe, const RowStage& stage, const Inputs& inputs) {
  FilterRun run;
  if (stage.annotate) {
    run = annotate_run(recipe, *stage.annotate, inputs);
  } else {
    const std::string filter = source_of(recipe).filters();
    run = {.make = find_filter(filter, recipe.lists),
           .what = fmt::format("{} {} {}", filter, recipe.lists, filter_models_text(filter, recipe.lists)),
           .scan = scan_of(recipe),
           .rejects = stage.rejects,
           .reasons = stage.reasons,
           .source_field = names_sources(inputs) ? recipe.dedup.source_field : std::string(),
           .to = {}};
  }
  run.to = recipe.write.output({});
  return run;
}

Json row_stage_json(const CorpusRecipe& recipe, const RowStage& stage, const Inputs& inputs, const FilterReport& r) {
  Json j = r.json();
  if (stage.annotate) {
    AnnotateSettings s = *stage.annotate;
    j.set("annotate", write_value(s));
  } else {
    j.set("filter", source_of(recipe).filters()), j.set("lists", recipe.lists);
  }
  j.set("inputs", inputs_json(inputs, r.scan.read));
  return j;
}

}  // namespace quern::corpus
