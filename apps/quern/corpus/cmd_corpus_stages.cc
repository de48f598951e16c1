// quern corpus stats | sketch | parquet: stages that count documents or convert them.
#include <cstdio>

#include "apps/quern/cli/progress.h"
#include "apps/quern/corpus/cmd_corpus.h"
#include "apps/quern/corpus/corpus_flags.h"
#include "apps/quern/models/shipped_models.h"
#include "quern/corpus/bytes/hashing.h"
#include "quern/corpus/io/run_manifest.h"
#include "quern/corpus/stages/convert.h"
#include "quern/corpus/stages/sketches.h"
#include "quern/corpus/stages/stats.h"

namespace quern::cli {
namespace {

using namespace corpus;

template <class F>
auto with_progress(const char* what, F&& run) {
  Progress progress;
  return run([&](uint64_t done, uint64_t total) { progress.share(what, done, total); });
}

}  // namespace

int corpus_stats_verb(Words args) {
  CorpusFlags flags;
  std::string tokenizer;
  bool json = false;
  Args a("corpus stats", "count documents, bytes, words and tokens");
  flags.declare_reading(a);
  a.flag("--tokenizer DIR", tokenizer, "folder with tokenizer.json: count tokens too").json(json);
  if (!a.parse(args)) return 0;
  flags.check_reading("corpus stats");
  const Inputs in = flags.inputs();
  std::optional<text::Tokenizer> t;
  if (!tokenizer.empty()) t = text::Tokenizer::load(model_folder(tokenizer));
  const CorpusStats s = with_progress("stats", [&](auto&& report_progress) {
    return corpus_stats(in, flags.scan(), t ? &*t : nullptr, report_progress);
  });
  const int status = warn_about(s.scan.read, s.scan.damaged, in, NamedFiles::all);
  if (json) {
    fmt::print("{}\n", s.json().dump());
    return status;
  }
  fmt::print("{:<20} {:>12} {:>15} {:>15} {:>14}{}\n", "source", "documents", "bytes", "characters", "words",
             t ? fmt::format(" {:>14}", "tokens") : "");
  SourceStats all;
  all.name = "all";
  const auto line = [&](const SourceStats& x) {
    fmt::print("{:<20} {:>12} {:>15} {:>15} {:>14}{}\n", x.name, x.documents, x.bytes, x.characters, x.words,
               t ? fmt::format(" {:>14}", x.tokens) : "");
  };
  for (const SourceStats& x : s.sources) line(x), all.add(x);
  if (s.sources.size() > 1) line(all);
  return status;
}

int corpus_parquet(Words args) {
  CorpusFlags flags;
  Args a("corpus parquet", "convert documents to Parquet files");
  flags.declare(a);
  a.note(
      "Columns: id, source, url, date, language, language_score, text, and members: everything but the text as one\n"
      "JSON object. Compressed with zstd.");
  if (!a.parse(args)) return 0;
  flags.check("corpus parquet");
  const Inputs in = flags.inputs();
  flags.clear_output(in);
  const ConvertReport r = with_progress("parquet", [&](auto&& report_progress) {
    return write_parquet(in, flags.scan(), flags.output(), report_progress, [&](const ConvertReport& report) {
      Json j = Json::object(), names = Json::array();
      for (const std::string& f : report.files) names.push(Json(f));
      j.set("outputs", std::move(names)), j.set("read", report.scan.read.json());
      j.set("inputs", inputs_json(in, report.scan.read));
      write_manifest(flags.out, j);
    });
  });
  const int status = warn_about(r.scan.read, r.scan.damaged, in);
  fmt::print("{}: {} documents in {} files\n", flags.out, r.scan.read.documents, r.files.size());
  return status;
}

int corpus_sketch(Words args) {
  CorpusFlags flags;
  DedupSettings& settings = flags.recipe.dedup;
  Args a("corpus sketch", "write the MinHash signature of every document");
  flags.declare(a);
  flags.declare_checkpoints(a);
  a.settings(settings, {{"preset"}, {"mode"}, {"seed"}});
  if (!a.parse(args)) return 0;
  flags.check("corpus sketch");
  const DedupConfig c = settings.config();
  if (!c.near)
    throw UsageError(fmt::format(
        "quern corpus sketch: --preset {} has no MinHash signature: expected zyda, zyda2 or fineweb", c.preset));
  const Inputs in = flags.inputs();
  flags.clear_output(in);
  const SketchesReport r = with_progress("sketch", [&](auto&& report_progress) {
    return write_sketches(in, flags.scan(), c.sketch, flags.output(), report_progress,
                          [&](const SketchesReport& report) {
                            Json j = Json::object();
                            j.set("sketch", c.sketch.json()), j.set("read", report.scan.read.json()),
                                j.set("inputs", inputs_json(in, report.scan.read));
                            write_manifest(flags.out, j);
                          });
  });
  report_resuming(flags.out, r.went_on);
  const int status = warn_about(r.scan.read, r.scan.damaged, in);
  fmt::print("{}: {} MinHash signatures\n", flags.out, r.scan.read.documents);
  return status;
}

}  // namespace quern::cli
