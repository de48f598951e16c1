// quern corpus dedup and build: remove exact duplicates and near-duplicates, write the kept documents as JSONL.zst
// with manifest.json and report.html; from flags, or from a recipe.
#include <cstdio>
#include <filesystem>
#include <functional>

#include "apps/quern/cli/progress.h"
#include "apps/quern/cli/shared_flags.h"
#include "apps/quern/corpus/cmd_corpus.h"
#include "apps/quern/corpus/corpus_flags.h"
#include "quern/base/error.h"
#include "quern/comm/in_process.h"
#include "quern/comm/mpi.h"
#include "quern/corpus/bytes/byte_stream.h"
#include "quern/corpus/io/input_paths.h"
#include "quern/corpus/stages/corpus_build.h"

namespace quern::cli {
namespace {

using namespace corpus;

constexpr double kLongest = 1e6;  // seconds a rank waits for another one: elections are one rank's

using OnDedup = std::function<void(const DedupProgress&)>;

// Shows what `dedup` reports until it is done.
DedupOutcome with_progress(const std::function<DedupOutcome(const OnDedup&)>& dedup) {
  Progress progress;
  return dedup([&](const DedupProgress& p) { progress.share(p.stage, p.bytes, p.total_bytes); });
}

void on_ranks(const RanksFlag& flags, const std::function<void(comm::Communicator&)>& run) {
  if (flags.ranks < 1) throw UsageError(fmt::format("--ranks {}: expected 1 or more", flags.ranks));
  if (!comm::under_mpi()) {
    comm::run_ranks(static_cast<int>(flags.ranks), run, {.timeout_s = kLongest});
  } else {
    if (flags.ranks > 1)
      throw UsageError("--ranks cannot be used under mpirun, which sets the number of ranks itself (mpirun -n N)");
    comm::run_mpi(run, {.timeout_s = kLongest});
  }
}

// Runs `dedup` on all ranks and reports the first one's outcome, which it returns; null on the processes of others.
std::optional<DedupOutcome> dedup_on(const RanksFlag& ranks,
                                     const std::function<DedupOutcome(comm::Communicator&, const OnDedup&)>& dedup) {
  std::optional<DedupOutcome> first;
  on_ranks(ranks, [&](comm::Communicator& all) {
    DedupOutcome mine = with_progress([&](const OnDedup& progress) { return dedup(all, progress); });
    if (all.rank() == 0) first = std::move(mine);
  });
  return first;
}

int run_dedup(const DedupTask& task, bool json, const RanksFlag& ranks) {
  warn_about_scope(task.config, task.inputs);
  const auto done = dedup_on(ranks, [&](comm::Communicator& all, const OnDedup& progress) {
    DedupTask watched = task;
    watched.progress = progress;
    return corpus::run_dedup(watched, all);
  });
  if (!done) return 0;
  const int status =
      report_dedup(done->report, task.inputs, task.out.string(), json ? ReportForm::json : ReportForm::text);
  if (json) fmt::print("{}\n", done->manifest.dump());
  return status;
}

// [mix] and [tokenize], on the first rank alone; what they counted goes into the manifest that is printed.
void run_later_stages(const CorpusRecipe& recipe, const BuildState& state, const std::string& out, bool json,
                      Json& manifest) {
  BuildReport r;
  {
    Progress progress;
    r = corpus::run_later_stages(recipe, state, out, [&](const char* stage, uint64_t done, uint64_t total) {
      progress.share(stage, done, total);
    });
  }
  if (r.mix) {
    report_resuming(out + "/mixed", r.mix->went_on);
    manifest.set("mix", r.mix->json());
    if (!json) fmt::print("{}/mixed: {} documents, {} bytes of text\n", out, r.mix->documents, r.mix->text_bytes);
  }
  if (r.tokens) {
    report_resuming(out + "/tokens", r.tokens->went_on);
    manifest.set("tokens", r.tokens->json());
    if (!json) fmt::print("{}/tokens: {} documents, {} tokens\n", out, r.tokens->documents, r.tokens->tokens);
  }
}

// The configuration on stdout, the sources on stderr. The exit status: 1 when a path leads to nothing.
int check_recipe(const CorpusRecipe& recipe) {
  Json config = recipe.config().json();
  if (recipe.mix) config.set("mix", write_value(*recipe.mix));
  if (recipe.tokenize) config.set("tokenize", write_value(*recipe.tokenize));
  fmt::print("{}\n", config.dump(2));
  std::fflush(stdout);
  for (const SourceSettings& s : recipe.source)
    fmt::print(stderr, "source {}: {}\n", s.name, fmt::join(s.paths, ", "));
  int status = 0;
  for (const SourceSettings& s : recipe.source)
    for (const std::string& path : s.paths)
      if (!is_pipe(path) && !is_path_or_pattern(path)) {
        fmt::print(stderr, "error: source {}: {}: no such file or folder\n", s.name, path);
        status = 1;
      }
  return status;
}

}  // namespace

int corpus_exact(Words args) {
  CorpusFlags flags;
  RanksFlag ranks;
  bool json = false;
  flags.recipe.dedup.preset = "exact";
  Args a("corpus exact", "remove exact duplicates only");
  flags.declare(a);
  a.settings(flags.recipe.dedup, {{"scope", "all"}, {"source_field"}, {"cluster_field"}})
      .settings(flags.source(), {{"score_field"}})
      .json(json, Args::kManifest);
  a.settings(ranks);
  if (!a.parse(args)) return 0;
  flags.check("corpus exact");
  const Inputs in = flags.inputs();
  const DedupConfig c = flags.recipe.config();
  return run_dedup({.inputs = in,
                    .config = c,
                    .out = flags.out,
                    .tool = tool("quern corpus exact"),
                    .overwrite = flags.overwriting.overwrite},
                   json, ranks);
}

int corpus_dedup(Words args) {
  CorpusFlags flags;
  RanksFlag ranks;
  BuildTarget target;
  bool json = false;
  Args a("corpus dedup", "remove exact duplicates and near-duplicates (MinHash, LSH)");
  flags.declare(a);
  flags.declare_checkpoints(a);
  a.settings(flags.recipe.dedup).settings(flags.source(), {{"score_field"}});
  flags.declare_filter(a);
  a.settings(target, {{"against"}, {"save_index"}});
  a.json(json, Args::kManifest)
      .note(
          "Writes part-*.jsonl.zst, clusters.jsonl.zst, report.html and manifest.json. A killed run resumes when it "
          "is\n"
          "started again. Sources rank in the order given: of two duplicates the one from the earlier source is "
          "kept.");
  a.settings(ranks);
  if (!a.parse(args)) return 0;
  flags.check("corpus dedup");
  check_ranges("corpus dedup", list_settings(flags.recipe.dedup));
  DedupConfig c = flags.recipe.config();
  warn_about_bands(flags.recipe.dedup, "--bands auto");
  c.checkpoint_bytes = flags.output().checkpoint_bytes;
  c.against = target.against, c.save_index = target.save_index;
  const Inputs in = flags.inputs();
  return run_dedup({.inputs = in,
                    .config = c,
                    .out = flags.out,
                    .tool = tool("quern corpus dedup"),
                    .overwrite = flags.overwriting.overwrite},
                   json, ranks);
}

int corpus_build(Words args) {
  std::string file;
  BuildTarget target{.setting = "--out"};
  const std::string& out = target.out;
  RanksFlag ranks;
  bool json = false, check = false;
  Args a("corpus build", "build a corpus from a recipe: filter, deduplicate, mix, tokenize");
  a.positional("RECIPE.toml", file)
      .settings(target)
      .flag("--check", check,
            "print the resolved configuration and exit; status 1 when a path of a source does not exist");
  a.json(json, Args::kManifest).settings(ranks);
  if (!a.parse(args)) return 0;
  const CorpusRecipe recipe = CorpusRecipe::load(file);
  warn_about_bands(recipe.dedup, "bands = \"auto\"");
  if (check) return check_recipe(recipe);
  if (out.empty()) throw UsageError("quern corpus build: --out is missing: expected a folder");
  CorpusPlan plan = plan_corpus(recipe, target);
  warn_about_scope(plan.dedup, plan.inputs);
  auto done = dedup_on(ranks, [&](comm::Communicator& all, const OnDedup& progress) {
    return dedup_corpus(plan, all, tool("quern corpus build"), progress);
  });
  if (!done) return 0;  // not the first rank
  const int status =
      done->ran ? report_dedup(done->report, plan.inputs, out, json ? ReportForm::json : ReportForm::text) : 0;
  if (plan.later) run_later_stages(recipe, *plan.later, out, json, done->manifest);
  if (json) fmt::print("{}\n", done->manifest.dump());
  return status;
}

}  // namespace quern::cli
