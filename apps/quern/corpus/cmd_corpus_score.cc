// quern corpus score: adds what a classifier says of every document, as a column; in this process, or as a plan of
// tasks (--tasks).
#include "apps/quern/cli/line_file.h"
#include "apps/quern/cli/wrong_usage.h"
#include "apps/quern/corpus/cmd_corpus.h"
#include "apps/quern/corpus/corpus_flags.h"
#include "apps/quern/corpus/row_stages.h"
#include "apps/quern/corpus/task_runners.h"
#include "apps/quern/encoders/encoder_flags.h"
#include "apps/quern/models/shipped_models.h"
#include "quern/corpus/io/run_manifest.h"
#include "quern/corpus/run/run_folder.h"
#include "quern/corpus/scores/scores.h"

namespace quern::cli {
namespace {

using namespace corpus;

struct ScoreFlags {
  std::string out;
  ScoreSettings settings;
  EncoderFlags encoder;
  PlanFlags plan;
};

// A file that is there is replaced only where that is asked for, and never one that is read.
void check_file(const CorpusFlags& flags, const ScoreFlags& f, const Inputs& in) {
  namespace fs = std::filesystem;
  if (f.out == "-" || !fs::exists(f.out)) return;
  for (const InputFile& file : in.files)
    if (!file.pipe && fs::equivalent(file.path, f.out))
      throw UsageError(fmt::format("quern corpus score: --out {}: is one of the inputs", f.out));
  if (!flags.overwriting.overwrite && fs::is_regular_file(f.out))
    throw UsageError(fmt::format("quern corpus score: --out {}: the file exists; --overwrite replaces it", f.out));
}

int run(const CorpusFlags& flags, const ScoreFlags& f, const Inputs& in, const DocumentScorer& scorer) {
  LineFile out(f.out);
  const ScoreReport r = scorer.score(in, flags.scan(), [&](std::string_view rows) { out.write(rows); });
  out.commit();
  // The manifest of a run of tasks that had written the file says nothing about this one.
  if (const std::string manifest = f.out + ".json"; f.out != "-" && manifest_files(manifest))
    std::filesystem::remove(manifest);
  return report_scores(r, in, f.out);
}

int plan(const CorpusFlags& flags, const ScoreFlags& f, const Inputs& in) {
  const std::string file = plan_file(f.plan, f.out);
  if (flags.overwriting.overwrite) replace_finished(f.out + ".json", in, OutFolder::shared);
  ScoreStage stage{f.settings};
  stage.settings.model = std::filesystem::absolute(stage.settings.model).lexically_normal().string();
  const TaskPlan made =
      plan_scores(flags.recipe, stage, in,
                  {.out = f.out, .tasks = static_cast<uint64_t>(*f.plan.tasks), .file = file, .tool = {}});
  return save_plan(made, in, file);
}

}  // namespace

int report_scores(const ScoreReport& r, const Inputs& in, const std::string& out) {
  const int status = warn_about(r.scan.read, r.scan.damaged, in, NamedFiles::all);
  if (r.own_members > 0)
    fmt::print(stderr, "warning: {} rows had the column already and keep what it says; --column names another\n",
               r.own_members);
  if (r.truncated > 0)
    fmt::print(stderr, "note: {} of {} documents were cut to {} tokens\n", r.truncated, r.documents, r.max_tokens);
  if (out != "-") fmt::print("{}: {} documents scored\n", out, r.documents);
  return status;
}

int corpus_score(Words args) {
  CorpusFlags flags;
  ScoreFlags f;
  Args a("corpus score", "add a column with the score of a classifier (an encoder with a head)");
  flags.declare_reading(a);
  a.flag("--model DIR", f.settings.model,
         "folder of the classifier: BERT, DeBERTa or ModernBERT for sequence classification")
      .flag("--out FILE", f.out, "file of JSON lines to write; - is stdout")
      .flag("--column NAME", f.settings.column, "name of the column")
      .flag("--label NAME", f.settings.label, "write the score of this label alone, as a number")
      .settings(flags.overwriting)
      .settings(f.encoder)
      .settings(f.plan)
      .note(
          "The column is a number for a head with one label, else an object of probabilities by label. Documents\n"
          "longer than the model reads are cut, and counted.")
      .note(kPlanNote);
  if (!a.parse(args)) return 0;
  flags.check_reading("corpus score");
  f.plan.check("corpus score", ReportForm::text);
  if (f.settings.model.empty()) throw UsageError("quern corpus score: --model is missing: expected a folder");
  if (f.out.empty()) throw UsageError("quern corpus score: --out is missing: expected a file, or - for stdout");
  for (const char* packed : {".gz", ".zst", ".zstd", ".xz", ".bz2"})
    if (f.out.ends_with(packed))
      throw UsageError(fmt::format(
          "quern corpus score: --out {}: JSON lines are written as they are; --out - | {} packs them", f.out,
          std::string_view(packed) == ".gz"    ? "gzip"
          : std::string_view(packed) == ".xz"  ? "xz"
          : std::string_view(packed) == ".bz2" ? "bzip2"
                                               : "zstd"));
  if (f.plan.asked() && f.out == "-")
    throw UsageError("quern corpus score: --tasks writes a file that all tasks share: name one with --out");
  static_cast<void>(checked_usage("corpus score", [&] { return f.encoder.parsed(); }));
  f.settings.format = f.encoder.format;
  const Inputs in = flags.inputs();
  if (f.plan.asked()) refuse_pipe("corpus score", in);
  if (!f.plan.asked()) check_file(flags, f, in);
  f.settings.model = model_folder(f.settings.model);
  encoders::TextEncoder classifier = load_classifier(f.settings);
  const DocumentScorer scorer =
      checked_usage("corpus score", [&] { return DocumentScorer(std::move(classifier), f.settings); });
  return f.plan.asked() ? plan(flags, f, in) : run(flags, f, in, scorer);
}

}  // namespace quern::cli
