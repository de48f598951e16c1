#include "quern/corpus/stages/row_stage.h"

#include <fmt/format.h>

#include "quern/corpus/bytes/hashing.h"
#include "quern/corpus/filters/filters.h"
#include "quern/corpus/run/run_folder.h"

namespace quern::corpus {
namespace {

const SourceSettings& source_of(const CorpusRecipe& recipe) { return recipe.source.at(0); }

FilterRun annotate_run(const CorpusRecipe& recipe, AnnotateSettings s, const Inputs& in,
                       std::vector<std::string>& notes) {
  FilterRun run{.make = find_filter(s.filter, recipe.lists), .what = {}, .scan = row_scan(recipe), .to = {}};
  run.what = fmt::format("annotate {} {} {}", write_value(s).dump(), recipe.lists,
                         filter_models_text(s.filter, recipe.lists));
  if (!s.classifier.empty()) run.what += fmt::format(" {:016x}", file_hash(s.classifier));
  if (!s.grader.empty()) run.what += fmt::format(" {:016x}", file_hash(s.grader));
  if (!s.labels.empty()) run.what = run_identity(find_inputs(s.labels, "auto", "labels"), run.what);
  run.keep_all = true;
  std::vector<std::string> rules;
  if (run.make)
    for (const char* r : run.make()->rules()) rules.emplace_back(r);
  run.columns = annotate_columns(s, in, rules, notes);
  return run;
}

// One that keeps the rows that pass.
FilterRun sieve_run(const CorpusRecipe& recipe, const RowStage& stage, const Inputs& in) {
  return {.make = {},
          .what = {},
          .scan = row_scan(recipe),
          .rejects = stage.rejects,
          .reasons = stage.reasons,
          .source_field = names_sources(in) ? recipe.dedup.source_field : std::string(),
          .to = {}};
}

}  // namespace

ScanOptions row_scan(const CorpusRecipe& recipe) {
  ScanOptions o;
  o.fields[0].text = source_of(recipe).text_field, o.fields[0].url = source_of(recipe).url_field;
  o.fields[0].license = source_of(recipe).license_field;
  o.read = recipe.read.policy();
  return o;
}

RowStageRun row_stage_run(const CorpusRecipe& recipe, const RowStage& stage, const Inputs& inputs) {
  RowStageRun r{.run = {}, .settings = Json::object(), .benchmarks = {}, .notes = {}};
  if (stage.annotate) {
    AnnotateSettings s = *stage.annotate;
    r.run = annotate_run(recipe, s, inputs, r.notes);
    r.settings.set("annotate", write_value(s));
  } else if (stage.decontaminate) {
    r.benchmarks = read_benchmarks(*stage.decontaminate);
    r.run = sieve_run(recipe, stage, inputs);
    r.run.make = decontamination_filter(r.benchmarks.index);
    r.run.what = stage.decontaminate->text(r.benchmarks.inputs);
    r.settings.set("benchmarks", r.benchmarks.json(*stage.decontaminate));
  } else {
    const std::string filter = source_of(recipe).filters();
    r.run = sieve_run(recipe, stage, inputs);
    r.run.make = find_filter(filter, recipe.lists);
    r.run.what = fmt::format("{} {} {}", filter, recipe.lists, filter_models_text(filter, recipe.lists));
    r.settings.set("filter", filter), r.settings.set("lists", recipe.lists);
  }
  r.run.to = recipe.write.output({});
  return r;
}

Json row_stage_json(const Json& settings, const Inputs& inputs, const FilterReport& r) {
  Json j = r.json();
  for (const auto& [key, value] : settings.as_object()) j.set(key, value);
  j.set("inputs", inputs_json(inputs, r.scan.read));
  return j;
}

}  // namespace quern::corpus
