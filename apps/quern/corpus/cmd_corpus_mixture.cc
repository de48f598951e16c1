// quern corpus mix | tokenize: a mixture of sources, and token shards; in this process, or as plans of tasks (--tasks).
#include <charconv>
#include <cstdio>

#include "apps/quern/cli/progress.h"
#include "apps/quern/corpus/cmd_corpus.h"
#include "apps/quern/corpus/row_stages.h"
#include "apps/quern/corpus/task_runners.h"
#include "apps/quern/models/shipped_models.h"
#include "apps/quern/train/shard_flags.h"
#include "quern/base/mmap.h"
#include "quern/corpus/io/run_manifest.h"
#include "quern/corpus/stages/mix.h"
#include "quern/corpus/stages/token_shards.h"
#include "quern/corpus/tasks/task_plan.h"

namespace quern::cli {
namespace {

using namespace corpus;

std::pair<std::string, double> parse_share(const std::string& word) {
  const size_t cut = word.rfind('=');
  double share = 0;
  const char *begin = word.data() + cut + 1, *end = word.data() + word.size();
  if (cut == word.npos || cut == 0 || std::from_chars(begin, end, share).ptr != end || begin == end)
    throw UsageError(fmt::format("quern corpus mix: --share '{}': expected SOURCE=NUMBER", word));
  return {word.substr(0, cut), share};
}

ReportForm form_of(bool json) { return json ? ReportForm::json : ReportForm::text; }

struct TokenCommand {
  const CorpusFlags& flags;
  TokenizeSettings settings;
  const ShardFlags& shards;
  Inputs in;
  std::string tokenizer;  // as it was named; settings: its folder

  int run(ReportForm form) const;
  int plan(const PlanFlags& asked) const;
};

int TokenCommand::run(ReportForm form) const {
  const text::Tokenizer t = text::Tokenizer::load(settings.tokenizer);
  const TokenRun run{.scan = flags.scan(),
                     .end_token = settings.end_token,
                     .tokenizer = tokenizer_hash(settings.tokenizer),
                     .prefix = shards.out,
                     .checkpoint_bytes = flags.output().checkpoint_bytes,
                     .rows = settings.rows};
  Json j;
  TokenShardReport r;
  {
    Progress progress;
    r = write_token_shards(
        in, t, run, [&](uint64_t done, uint64_t total) { progress.share("tokenize", done, total); },
        [&](const TokenShardReport& report) {
          j = with_files(token_stage_json(tokenizer, in, report), unfinished_of(shards.out + ".json"));
          write_file(shards.out + ".json", j.dump(2) + "\n");
        });
  }
  const int status = report_tokens(r, in, shards.out, form);
  if (form == ReportForm::json) fmt::print("{}\n", j.dump());
  return status;
}

int TokenCommand::plan(const PlanFlags& asked) const {
  const std::string file = plan_file(asked, shards.out);
  CorpusRecipe recipe = flags.recipe;
  recipe.tokenize = settings;
  const TaskPlan plan =
      plan_tokens(recipe, {.tokenizer = tokenizer}, in,
                  {.out = shards.out, .tasks = static_cast<uint64_t>(*asked.tasks), .file = file, .tool = {}});
  return save_plan(plan, in, file);
}

}  // namespace

int report_tokens(const TokenShardReport& r, const Inputs& in, const std::string& out, ReportForm form) {
  report_resuming(out, r.went_on);
  const int status = warn_about(r.scan.read, r.scan.damaged, in);
  if (form == ReportForm::text) fmt::print("{}: {} documents, {} tokens\n", out, r.documents, r.tokens);
  return status;
}

int corpus_tokenize(Words args) {
  CorpusFlags flags;
  TokenizeSettings settings;
  ShardFlags shards;
  PlanFlags plan;
  bool json = false;
  Args a("corpus tokenize", "write token shards for training");
  flags.declare_reading(a);
  flags.declare_checkpoints(a);
  a.settings(settings).settings(shards).settings(flags.overwriting).settings(plan).json(json, Args::kCounts);
  a.note(kPlanNote);
  if (!a.parse(args)) return 0;
  flags.check_reading("corpus tokenize");
  plan.check("corpus tokenize", form_of(json));
  if (shards.out.empty()) throw UsageError("quern corpus tokenize: --out is missing: expected a PREFIX");
  if (settings.tokenizer.empty())
    throw UsageError("quern corpus tokenize: --tokenizer is missing: expected a folder with tokenizer.json");
  TokenCommand command{
      .flags = flags, .settings = settings, .shards = shards, .in = flags.inputs(), .tokenizer = settings.tokenizer};
  command.settings.tokenizer = model_folder(settings.tokenizer);
  command.settings.end_token = shards.end_token;
  if (plan.asked()) refuse_pipe("corpus tokenize", command.in);
  if (flags.overwriting.overwrite) replace_finished(shards.out + ".json", command.in, OutFolder::shared);
  return plan.asked() ? command.plan(plan) : command.run(form_of(json));
}

namespace {

struct MixCommand {
  const CorpusFlags& flags;
  MixSettings settings;
  MixStage stage;
  Inputs in;

  int run(ReportForm form) const;
  int plan(const PlanFlags& asked) const;
};

int MixCommand::run(ReportForm form) const {
  MixConfig c = settings.config();
  c.shares = stage.shares;
  c.to = flags.output();
  ScanOptions scan = flags.scan();
  scan.fields[0].source = stage.source_field;
  c.source_field = added_source_field(in, scan);
  Json j;
  MixReport r;
  {
    Progress progress;
    r = mix_corpus(
        in, scan, c, [&](uint64_t done, uint64_t total) { progress.share("mix", done, total); },
        [&](const MixReport& report) { j = write_manifest(flags.out, mix_stage_json(settings.seed, in, report)); });
  }
  const int status = report_mix(r, in, flags.out, form);
  if (form == ReportForm::json) fmt::print("{}\n", j.dump());
  return status;
}

int MixCommand::plan(const PlanFlags& asked) const {
  const std::string file = plan_file(asked, flags.out);
  CorpusRecipe recipe = flags.recipe;
  recipe.mix = settings;
  recipe.mix->shard_mb = recipe.write.shard_mb;
  const TaskPlan plan = plan_mix(
      recipe, stage, in, {.out = flags.out, .tasks = static_cast<uint64_t>(*asked.tasks), .file = file, .tool = {}});
  return save_plan(plan, in, file);
}

// Those that rows name are the ones with a share.
void name_sources_by_field(MixCommand& c) {
  if (c.stage.source_field.empty()) return;
  if (c.in.sources != std::vector<std::string>{kUnnamedSource})
    throw UsageError("quern corpus mix: --source-field cannot be used with SOURCE=PATH: name one of them");
  c.in.sources.clear();
  for (const auto& [name, share] : c.stage.shares) c.in.sources.push_back(name);
}

}  // namespace

int report_mix(const MixReport& r, const Inputs& in, const std::string& out, ReportForm form) {
  report_resuming(out, r.went_on);
  const int status = warn_about(r.scan.read, r.scan.damaged, in);
  if (const uint64_t own = r.own_members(); own > 0)
    fmt::print(stderr,
               "warning: {} rows have a field `{}` with another value than the name of their source; it stays\n", own,
               DedupConfig().source_field);
  if (form == ReportForm::json) return status;
  for (const MixedSource& s : r.sources)
    fmt::print("{:<20} share {:.4f}  read {:.3f} times  {:>10} documents {:>14} bytes\n", s.name, s.share, s.epochs,
               s.documents_out, s.bytes_out);
  return status;
}

int corpus_mix(Words args) {
  CorpusFlags flags;
  std::vector<std::string> shares;
  std::string source_field;
  MixSettings settings;
  PlanFlags plan;
  bool json = false;
  Args a("corpus mix", "mix sources in given proportions, in shuffled order");
  flags.recipe.write.shard_mb = settings.shard_mb;
  flags.declare(a);
  flags.declare_checkpoints(a);
  a.flag("--share SOURCE=X", shares,
         "proportion of a source, relative to the others; give one per source; repeatable")
      .flag("--source-field NAME", source_field,
            "field of a JSON line that names its source, as build and dedup write it; without it the inputs do")
      .settings(settings, {{"megabytes"}, {"max_epochs"}, {"seed"}})
      .settings(plan)
      .json(json, Args::kManifest)
      .note(
          "Name the sources as SOURCE=PATH: every row gets the field `source`, unless it has one. The result depends "
          "only on the ids of the documents and the seed.")
      .note(kPlanNote);
  if (!a.parse(args)) return 0;
  flags.check("corpus mix");
  plan.check("corpus mix", form_of(json));
  if (shares.empty()) throw UsageError("quern corpus mix: --share is missing: give SOURCE=NUMBER for every source");
  check_ranges("corpus mix", list_settings(settings));
  MixCommand command{.flags = flags, .settings = settings, .stage = {{}, source_field}, .in = flags.inputs()};
  for (const std::string& s : shares) command.stage.shares.push_back(parse_share(s));
  name_sources_by_field(command);
  if (plan.asked()) refuse_pipe("corpus mix", command.in);
  flags.clear_output(command.in);
  return plan.asked() ? command.plan(plan) : command.run(form_of(json));
}

}  // namespace quern::cli
