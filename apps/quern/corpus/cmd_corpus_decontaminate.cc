// quern corpus decontaminate: removes documents that share n-grams with benchmarks.
#include <algorithm>
#include <cstdio>

#include "apps/quern/cli/progress.h"
#include "apps/quern/cli/shared_flags.h"
#include "apps/quern/corpus/cmd_corpus.h"
#include "apps/quern/corpus/corpus_flags.h"
#include "quern/base/mmap.h"
#include "quern/corpus/filters/ngram_index.h"
#include "quern/corpus/run/scan.h"
#include "quern/corpus/stages/filter_stage.h"

namespace quern::cli {

namespace {

using namespace corpus;

std::shared_ptr<NgramIndex> benchmark_index(const Inputs& benchmarks, const std::vector<std::string>& fields,
                                            const NgramOptions& options) {
  auto index = std::make_shared<NgramIndex>(options);
  std::vector<std::string> lost;  // files that had none of the fields so far; in the order of the files
  for (const std::string& field : fields) {
    struct Nothing {};
    ScanOptions o;
    o.fields[0].text = field;
    const ScanReport r = scan_documents<Nothing, std::vector<std::string>>(
        benchmarks, o, [] { return Nothing(); },
        [](Nothing&, const DocumentView& d, std::vector<std::string>& items) { items.emplace_back(d.text); },
        [&](std::vector<std::string>&& items) {
          for (const std::string& item : items) index->add(item);
        });
    if (warn_about(r.read, r.damaged, benchmarks) == 0) lost.clear();
    const std::vector<std::string> none = lost_inputs(benchmarks, r.read, r.damaged);
    if (field == fields[0]) lost = none;
    std::erase_if(lost, [&](const std::string& file) { return std::ranges::find(none, file) == none.end(); });
  }
  if (!lost.empty()) fail("{}: a benchmark without any text in the fields {}", lost[0], fmt::join(fields, ", "));
  index->finish();
  return index;
}

}  // namespace

int corpus_decontaminate(Words args) {
  CorpusFlags flags;
  std::vector<std::string> against, fields;
  NgramFlag ngram{.words = NgramOptions().n};
  int64_t shortest = NgramOptions().shortest, minimum = NgramOptions().minimum;
  RejectFlags removed;
  bool json = false;
  Args a("corpus decontaminate", "remove documents that share n-grams with benchmarks");
  flags.declare(a);
  flags.declare_checkpoints(a);
  flags.declare_stream(a);
  a.flag("--against PATH", against, "benchmark to search for: a file or folder; repeatable")
      .flag("--against-field NAME", fields, "field of a benchmark's JSON lines to search for; repeatable [text]")
      .settings(ngram)
      .alias("--words")
      .flag("--min-words N", shortest,
            "minimum words of a benchmark item; shorter items are skipped, items shorter than an n-gram match as a "
            "whole")
      .alias("--shortest")
      .flag("--min-matches N", minimum, "minimum number of shared n-grams that removes a document")
      .alias("--least")
      .settings(flags.recipe.dedup, {{"source_field"}})
      .settings(removed)
      .json(json, Args::kCounts);
  if (!a.parse(args)) return 0;
  flags.check("corpus decontaminate");
  refuse_with_stdout("corpus decontaminate", flags,
                     {{"--rejects", removed.rejects}, {"--reasons", removed.reasons}, {"--json", json}});
  if (against.empty())
    throw UsageError("quern corpus decontaminate: --against is missing: expected a benchmark file or folder");
  if (fields.empty()) fields = {"text"};
  const Inputs benchmarks = find_inputs(against, "auto", "benchmark");
  const auto index = benchmark_index(
      benchmarks, fields, {static_cast<int>(ngram.words), static_cast<int>(shortest), static_cast<int>(minimum)});
  if (index->grams() == 0)
    fail("the benchmarks have no n-gram: every item is shorter than {} words (--min-words)", shortest);
  if (index->too_short() > 0)
    fmt::print(stderr, "warning: skipped {} of {} items that are shorter than {} words (--min-words)\n",
               index->too_short(), index->items(), shortest);
  const Inputs in = flags.inputs();
  if (!flags.to_stdout()) flags.clear_output(in);
  FilterRun run{.make = decontamination_filter(index),
                .what = run_identity(benchmarks, fmt::format("decontaminate {} {} {} {}", ngram.words, shortest,
                                                             minimum, fmt::join(fields, "\n"))),
                .scan = flags.scan(),
                .rejects = removed.rejects,
                .reasons = removed.reasons,
                .source_field = names_sources(in) ? flags.recipe.dedup.source_field : std::string(),
                .to = {}};
  if (flags.to_stdout()) return stream_rows(flags, in, run);
  run.to = flags.output();
  Json j;
  FilterReport r;
  {
    Progress progress;
    r = filter_corpus(
        in, run, [&](uint64_t done, uint64_t total) { progress.share("decontaminate", done, total); },
        [&](const FilterReport& report) {
          Json of = Json::object();
          j = report.json();
          of.set("inputs", benchmarks.json()), of.set("items", static_cast<int64_t>(index->items()));
          of.set("too_short", static_cast<int64_t>(index->too_short()));
          of.set("ngrams", static_cast<int64_t>(index->grams())), of.set("words", ngram.words),
              of.set("least", minimum);
          j.set("benchmarks", std::move(of)), j.set("inputs", inputs_json(in, report.scan.read));
          j = write_manifest(flags.out, j);
        });
  }
  report_resuming(flags.out, r.went_on);
  warn_about_own_members(r.own_members);
  const int status = warn_about(r.scan.read, r.scan.damaged, in);
  if (json)
    fmt::print("{}\n", j.dump());
  else
    fmt::print("{}: kept {} of {} documents\n", flags.out, r.kept, r.scan.read.documents);
  return status;
}

}  // namespace quern::cli
