// quern corpus filter | extract: keeps the documents that pass a filter's rules, or all; the others are written with their
// reasons. With --out -, rows go to standard output.
#include <cstdio>

#include "apps/quern/cli/progress.h"
#include "apps/quern/corpus/cmd_corpus.h"
#include "apps/quern/corpus/corpus_flags.h"
#include "quern/base/error.h"
#include "quern/corpus/filters/filters.h"
#include "quern/corpus/stages/filter_stage.h"

namespace quern::cli {
namespace {

using namespace corpus;

struct FilterCommand {
  std::string verb;
  CorpusFlags& flags;
  RejectFlags removed;
  bool json = false;

  int run(const FilterMaker& make) const;
};

int FilterCommand::run(const FilterMaker& make) const {
  const std::string filter = flags.source().filters(), &lists = flags.recipe.lists;
  refuse_with_stdout(verb, flags, {{"--rejects", removed.rejects}, {"--reasons", removed.reasons}, {"--json", json}});
  const Inputs in = flags.inputs();
  flags.check_url(verb, filter, make, in);
  FilterRun run{.make = make,
                .what = fmt::format("{} {} {}", filter, lists, filter_models_text(filter, lists)),
                .scan = flags.scan(),
                .rejects = removed.rejects,
                .reasons = removed.reasons,
                .source_field = names_sources(in) ? flags.recipe.dedup.source_field : std::string(),
                .to = {}};
  if (flags.to_stdout()) return stream_rows(flags, in, run);
  run.to = flags.output();
  flags.clear_output(in);
  Json j;
  FilterReport r;
  {
    Progress progress;
    r = filter_corpus(
        in, run, [&](uint64_t done, uint64_t total) { progress.share("filter", done, total); },
        [&](const FilterReport& report) {
          j = report.json();
          j.set("filter", filter), j.set("lists", lists), j.set("inputs", inputs_json(in, report.scan.read));
          j = write_manifest(flags.out, j);
        });
  }
  report_resuming(flags.out, r.went_on);
  warn_about_idle(r.idle_rules);
  warn_about_own_members(r.own_members);
  const int status = warn_about(r.scan.read, r.scan.damaged, in);
  if (json) {
    fmt::print("{}\n", j.dump());
    return status;
  }
  fmt::print("{}: kept {} of {} documents\n", flags.out, r.kept, r.scan.read.documents);
  print_rules(r, stdout);
  return status;
}

}  // namespace

int corpus_filter(Words args) {
  CorpusFlags flags;
  flags.source().filter = "";
  FilterCommand command{.verb = "corpus filter", .flags = flags, .removed = {}};
  Args a(command.verb, "remove documents by quality rules (C4, Gopher, FineWeb, Zyda)");
  flags.declare(a);
  flags.declare_checkpoints(a);
  flags.declare_stream(a);
  a.settings(flags.source(), {{"filter", "zyda; none with --language"}, {"language"}})
      .settings(flags.recipe, {{"lists"}})
      .settings(flags.recipe.dedup, {{"source_field"}})
      .settings(command.removed)
      .json(command.json, Args::kCounts);
  if (!a.parse(args)) return 0;
  flags.check(command.verb);
  if (flags.source().filter.empty()) flags.source().filter = flags.source().language.empty() ? "zyda" : "none";
  if (flags.source().filters() == "none")
    throw UsageError(
        "quern corpus filter: --filter none removes nothing: name a filter, or use quern corpus extract");
  return command.run(find_filter(flags.source().filters(), flags.recipe.lists));
}

int corpus_extract(Words args) {
  CorpusFlags flags;
  FilterCommand command{.verb = "corpus extract", .flags = flags, .removed = {}};
  Args a(command.verb, "write documents as JSON lines: the main text of web pages, the rows of tables");
  flags.declare(a);
  flags.declare_checkpoints(a);
  flags.declare_stream(a);
  a.settings(flags.recipe.dedup, {{"source_field"}}).json(command.json, Args::kCounts);
  if (!a.parse(args)) return 0;
  flags.check(command.verb);
  return command.run({});
}

}  // namespace quern::cli
