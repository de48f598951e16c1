// quern corpus decontaminate: removes documents that share n-grams with benchmarks.
#include <cstdio>

#include "apps/quern/cli/shared_flags.h"
#include "apps/quern/corpus/cmd_corpus.h"
#include "apps/quern/corpus/row_stages.h"

namespace quern::cli {

namespace {

using namespace corpus;

// How many items the benchmarks have, what was not read of them, by field, and which items are too short.
void report_benchmarks(const Benchmarks& b, const DecontaminateSettings& s) {
  // A file may have one of the fields; one that has none is an error.
  for (const ScanReport& r : b.read) static_cast<void>(warn_about(r.read, r.damaged, b.inputs, NamedFiles::all));
  fmt::print(stderr, "benchmarks: {} items in {} files, {} n-grams of up to {} words\n", b.index->items(),
             b.inputs.files.size(), b.index->grams(), s.words);
  if (b.index->too_short() > 0)
    fmt::print(stderr, "warning: skipped {} of {} items that are shorter than {} words (--min-words)\n",
               b.index->too_short(), b.index->items(), s.shortest);
}

}  // namespace

int corpus_decontaminate(Words args) {
  CorpusFlags flags;
  DecontaminateSettings s;
  NgramFlag ngram{.words = s.words};
  RejectFlags removed;
  PlanFlags plan;
  bool json = false;
  Args a("corpus decontaminate", "remove documents that share n-grams with benchmarks");
  flags.declare(a);
  flags.declare_checkpoints(a);
  flags.declare_stream(a);
  a.flag("--against PATH", s.against,
         "benchmark to search for: a file or folder; of a text file, every line is an item, or "
         "every paragraph where blank lines stand between; repeatable")
      .flag("--against-field NAME", s.fields, "field of a benchmark's JSON lines to search for; repeatable [text]")
      .settings(ngram)
      .alias("--words")
      .flag("--min-words N", s.shortest,
            "minimum words of a benchmark item; shorter items are skipped, items shorter than an n-gram match as a "
            "whole")
      .alias("--shortest")
      .flag("--min-matches N", s.minimum, "minimum number of shared n-grams that removes a document")
      .alias("--least")
      .settings(flags.recipe.dedup, {{"source_field"}})
      .settings(removed)
      .settings(plan)
      .json(json, Args::kCounts)
      .note(stream_and_plan_note());
  if (!a.parse(args)) return 0;
  flags.check("corpus decontaminate");
  refuse_with_stdout(
      "corpus decontaminate", flags,
      {{"--rejects", removed.rejects}, {"--reasons", removed.reasons}, {"--tasks", plan.asked()}, {"--json", json}});
  const ReportForm form = json ? ReportForm::json : ReportForm::text;
  plan.check("corpus decontaminate", form);
  if (s.against.empty())
    throw UsageError("quern corpus decontaminate: --against is missing: expected a benchmark file or folder");
  if (s.fields.empty()) s.fields = {"text"};
  s.words = ngram.words;
  const RowStage stage{
      .verb = "decontaminate", .rejects = removed.rejects, .reasons = removed.reasons, .decontaminate = s};
  const Inputs in = flags.inputs();
  const RowStageRun loaded = row_stage_run(flags.recipe, stage, in);
  report_benchmarks(loaded.benchmarks, s);
  if (flags.to_stdout()) return stream_rows(flags, in, loaded.run);
  return run_or_plan({flags, stage, in, loaded}, plan, form);
}

}  // namespace quern::cli
