// quern corpus annotate: adds columns to every row (language, features, rules that it fails, scores, labels of side
// files) and drops none.
#include <cstdio>

#include "apps/quern/corpus/cmd_corpus.h"
#include "apps/quern/corpus/row_stages.h"
#include "quern/corpus/bytes/byte_stream.h"

namespace quern::cli {
namespace {

using namespace corpus;

void refuse_pipes_of_labels(const AnnotateSettings& s) {
  for (const std::string& file : s.labels)
    if (is_pipe(file))
      throw UsageError(
          fmt::format("quern corpus annotate: --labels {}: is read more than once, and a pipe is read once: write it "
                      "to a file first",
                      file));
}

}  // namespace

int corpus_annotate(Words args) {
  CorpusFlags flags;
  AnnotateSettings s;
  PlanFlags plan;
  bool json = false;
  Args a("corpus annotate", "add languages, features, scores and labels to every row, as columns");
  flags.declare(a);
  flags.declare_checkpoints(a);
  flags.declare_stream(a);
  a.settings(s)
      .settings(flags.source(), {{"license_field"}})
      .settings(flags.recipe, {{"lists"}})
      .settings(plan)
      .json(json, Args::kCounts);
  a.note(fmt::format(
      "No row is dropped, and nothing in a row is changed. A row without an id gets one, and the name of its source\n"
      "where sources have names. A row that has a member of the same name keeps its own; --prefix avoids that.\n{}",
      stream_and_plan_note()));
  if (!a.parse(args)) return 0;
  flags.check("corpus annotate");
  refuse_with_stdout("corpus annotate", flags, {{"--tasks", plan.asked()}, {"--json", json}});
  const ReportForm form = json ? ReportForm::json : ReportForm::text;
  plan.check("corpus annotate", form);
  refuse_pipes_of_labels(s);
  const Inputs in = flags.inputs();
  const RowStage stage{.verb = "annotate", .annotate = s};
  const RowStageRun loaded = row_stage_run(flags.recipe, stage, in);
  for (const std::string& note : loaded.notes) fmt::print(stderr, "warning: {}\n", note);
  flags.check_url("corpus annotate", s.filter, loaded.run.make, in);
  if (flags.to_stdout())
    return stream_rows(flags, in, loaded.run, [&](const FilterReport& r) { return labeled_in_words(stage, r); });
  return run_or_plan({flags, stage, in, loaded}, plan, form);
}

}  // namespace quern::cli
