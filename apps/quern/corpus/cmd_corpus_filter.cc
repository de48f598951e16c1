// quern corpus filter | extract: keeps the documents that pass a filter's rules, or all; the others are written with their
// reasons. With --out -, rows go to standard output.
#include "apps/quern/corpus/cmd_corpus.h"
#include "apps/quern/corpus/row_stages.h"

namespace quern::cli {
namespace {

using namespace corpus;

struct FilterCommand {
  std::string verb;
  CorpusFlags& flags;
  RejectFlags removed;
  PlanFlags plan = {};
  bool json = false;

  int run() const;
};

int FilterCommand::run() const {
  refuse_with_stdout(
      verb, flags,
      {{"--rejects", removed.rejects}, {"--reasons", removed.reasons}, {"--tasks", plan.asked()}, {"--json", json}});
  const ReportForm form = json ? ReportForm::json : ReportForm::text;
  plan.check(verb, form);
  const Inputs in = flags.inputs();
  const RowStage stage{
      .verb = verb.substr(verb.find(' ') + 1), .rejects = removed.rejects, .reasons = removed.reasons};
  const RowStageRun loaded = row_stage_run(flags.recipe, stage, in);
  flags.check_url(verb, flags.source().filters(), loaded.run.make, in);
  if (flags.to_stdout()) return stream_rows(flags, in, loaded.run);
  return run_or_plan({flags, stage, in, loaded}, plan, form);
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
  a.settings(flags.source(), {{"filter", "zyda; none with --language"}, {"language"}, {"license_field"}})
      .settings(flags.recipe, {{"lists"}})
      .settings(flags.recipe.dedup, {{"source_field"}})
      .settings(command.removed)
      .settings(command.plan)
      .json(command.json, Args::kCounts);
  a.note(stream_and_plan_note());
  if (!a.parse(args)) return 0;
  flags.check(command.verb);
  if (flags.source().filter.empty()) flags.source().filter = flags.source().language.empty() ? "zyda" : "none";
  if (flags.source().filters() == "none")
    throw UsageError(
        "quern corpus filter: --filter none removes nothing: name a filter, or use quern corpus extract");
  return command.run();
}

int corpus_extract(Words args) {
  CorpusFlags flags;
  FilterCommand command{.verb = "corpus extract", .flags = flags, .removed = {}};
  Args a(command.verb, "write documents as JSON lines: the main text of web pages, the rows of tables");
  flags.declare(a);
  flags.declare_checkpoints(a);
  flags.declare_stream(a);
  a.settings(flags.recipe.dedup, {{"source_field"}}).settings(command.plan).json(command.json, Args::kCounts);
  a.note(stream_and_plan_note());
  if (!a.parse(args)) return 0;
  flags.check(command.verb);
  return command.run();
}

}  // namespace quern::cli
