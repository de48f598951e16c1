// quern corpus annotate: adds columns to every row (language, features, rules that it fails, scores, labels of side
// files) and drops none.
#include <algorithm>
#include <cstdio>

#include "apps/quern/cli/progress.h"
#include "apps/quern/cli/wrong_usage.h"
#include "apps/quern/corpus/cmd_corpus.h"
#include "apps/quern/corpus/corpus_flags.h"
#include "quern/base/error.h"
#include "quern/corpus/bytes/hashing.h"
#include "quern/corpus/filters/filters.h"
#include "quern/corpus/stages/annotate.h"

namespace quern::cli {
namespace {

using namespace corpus;

FilterRun annotate_run(const CorpusFlags& flags, const AnnotateSettings& s, const Inputs& in) {
  FilterRun run{.make = find_filter(s.filter, flags.recipe.lists), .what = {}, .scan = flags.scan(), .to = {}};
  flags.check_url("corpus annotate", s.filter, run.make, in);
  run.what = fmt::format("annotate {} {} {}", write_value(s).dump(), flags.recipe.lists,
                         filter_models_text(s.filter, flags.recipe.lists));
  if (!s.classifier.empty()) run.what += fmt::format(" {:016x}", file_hash(s.classifier));
  for (const std::string& file : s.labels)
    if (is_pipe(file))
      throw UsageError(
          fmt::format("quern corpus annotate: --labels {}: is read more than once, and a pipe is read once: write it "
                      "to a file first",
                      file));
  if (!s.labels.empty()) run.what = run_identity(find_inputs(s.labels, "auto", "labels"), run.what);
  run.keep_all = true;
  std::vector<std::string> rules;
  if (run.make)
    for (const char* r : run.make()->rules()) rules.emplace_back(r);
  run.columns = annotate_columns(s, in, rules);
  return run;
}

// How many rows had an id of a side file; warns where none had.
std::string labeled_in_words(const AnnotateSettings& s, const FilterReport& r) {
  if (s.labels.empty()) return "";
  if (r.labeled == 0)
    fmt::print(stderr,
               "warning: no document has an id of the side files: compare the ids in both, as they are written\n");
  return fmt::format(", {} of them with a row of the side files", r.labeled);
}

}  // namespace

int corpus_annotate(Words args) {
  CorpusFlags flags;
  AnnotateSettings s;
  bool json = false;
  Args a("corpus annotate", "add languages, features, scores and labels to every row, as columns");
  flags.declare(a);
  flags.declare_checkpoints(a);
  flags.declare_stream(a);
  a.settings(s).settings(flags.recipe, {{"lists"}}).json(json, Args::kCounts);
  a.note(
      "No row is dropped, and nothing in a row is changed. A row without an id gets one, and the name of its source\n"
      "where sources have names. A row that has a member of the same name keeps its own; --prefix avoids that.\n"
      "With --out -, rows go to standard output as JSON lines, and what is said to standard error.");
  if (!a.parse(args)) return 0;
  flags.check("corpus annotate");
  refuse_with_stdout("corpus annotate", flags, {{"--json", json}});
  const Inputs in = flags.inputs();
  FilterRun run = annotate_run(flags, s, in);
  if (flags.to_stdout())
    return stream_rows(flags, in, run, [&](const FilterReport& r) { return labeled_in_words(s, r); });
  run.to = flags.output();
  flags.clear_output(in);
  Json j;
  FilterReport r;
  {
    Progress progress;
    r = filter_corpus(
        in, run, [&](uint64_t done, uint64_t total) { progress.share("annotate", done, total); },
        [&](const FilterReport& report) {
          j = report.json();
          j.set("annotate", write_value(s)), j.set("inputs", inputs_json(in, report.scan.read));
          j = write_manifest(flags.out, j);
        });
  }
  report_resuming(flags.out, r.went_on);
  warn_about_idle(r.idle_rules);
  warn_about_own_members(r.own_members);
  const std::string labeled = labeled_in_words(s, r);
  const int status = warn_about(r.scan.read, r.scan.damaged, in);
  if (json) {
    fmt::print("{}\n", j.dump());
    return status;
  }
  fmt::print("{}: {} documents annotated{}\n", flags.out, r.kept, labeled);
  print_rules(r, stdout);
  return status;
}

}  // namespace quern::cli
