// quern corpus filter: keeps the documents that pass a filter's rules; the others are written with their reasons.
#include <algorithm>
#include <cstdio>

#include "apps/quern/cli/progress.h"
#include "apps/quern/corpus/cmd_corpus.h"
#include "apps/quern/corpus/corpus_flags.h"
#include "quern/base/mmap.h"
#include "quern/corpus/filters/filters.h"
#include "quern/corpus/stages/filter_stage.h"

namespace quern::cli {

int corpus_filter(Words args) {
  CorpusFlags flags;
  std::string &filter = flags.source().filter, &lists = flags.recipe.lists;
  filter = "zyda";
  RejectFlags removed;
  bool json = false;
  Args a("corpus filter", "remove documents by quality rules (C4, Gopher, FineWeb, Zyda)");
  flags.declare(a);
  flags.declare_checkpoints(a);
  flags.declare_filter(a);
  a.settings(removed).json(json, Args::kCounts);
  if (!a.parse(args)) return 0;
  flags.check("corpus filter");
  if (filter == "none") throw UsageError("quern corpus filter: --filter none removes nothing: name a filter");
  const corpus::FilterMaker make = corpus::find_filter(filter, lists);
  const corpus::Inputs in = flags.inputs();
  const bool fields = std::ranges::any_of(in.files, [](const auto& f) { return f.form != corpus::InputForm::warc; });
  if (fields && make()->wants_url() && flags.source().url_field.empty())
    throw UsageError(
        fmt::format("quern corpus filter: --filter {} needs --url-field: name the field with the URL", filter));
  flags.clear_output(in);
  const corpus::FilterRun run{.make = make,
                              .what = fmt::format("{} {}", filter, lists),
                              .scan = flags.scan(),
                              .rejects = removed.rejects,
                              .reasons = removed.reasons,
                              .to = flags.output()};
  Json j;
  corpus::FilterReport r;
  {
    Progress progress;
    r = corpus::filter_corpus(
        in, run, [&](uint64_t done, uint64_t total) { progress.share("filter", done, total); },
        [&](const corpus::FilterReport& report) {
          j = report.json();
          j.set("filter", filter), j.set("lists", lists), j.set("inputs", corpus::inputs_json(in, report.scan.read));
          j = corpus::write_manifest(flags.out, j);
        });
  }
  report_resuming(flags.out, r.went_on);
  warn_about_idle(r.idle_rules);
  const int status = warn_about(r.scan.read, r.scan.damaged, in);
  if (json) {
    fmt::print("{}\n", j.dump());
    return status;
  }
  fmt::print("{}: kept {} of {} documents\n", flags.out, r.kept, r.scan.read.documents);
  for (size_t i = 0; i < r.rules.size(); ++i)
    if (r.rule_any[i] > 0)
      fmt::print("  {:<20} {:>9} failed it first, {:>9} in all\n", r.rules[i], r.rule_first[i], r.rule_any[i]);
  return status;
}

}  // namespace quern::cli
