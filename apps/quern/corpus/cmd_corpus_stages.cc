// quern corpus stats | tokenize | mix | sketch | parquet: stages that count documents or convert them.
#include <charconv>
#include <cstdio>

#include "apps/quern/cli/progress.h"
#include "apps/quern/corpus/cmd_corpus.h"
#include "apps/quern/corpus/corpus_flags.h"
#include "apps/quern/models/shipped_models.h"
#include "apps/quern/train/shard_flags.h"
#include "quern/base/mmap.h"
#include "quern/corpus/bytes/hashing.h"
#include "quern/corpus/io/run_manifest.h"
#include "quern/corpus/stages/convert.h"
#include "quern/corpus/stages/mix.h"
#include "quern/corpus/stages/sketches.h"
#include "quern/corpus/stages/stats.h"
#include "quern/corpus/stages/token_shards.h"

namespace quern::cli {
namespace {

using namespace corpus;

template <class F>
auto with_progress(const char* what, F&& run) {
  Progress progress;
  return run([&](uint64_t done, uint64_t total) { progress.share(what, done, total); });
}

std::pair<std::string, double> parse_share(const std::string& word) {
  const size_t cut = word.rfind('=');
  double share = 0;
  const char *begin = word.data() + cut + 1, *end = word.data() + word.size();
  if (cut == word.npos || cut == 0 || std::from_chars(begin, end, share).ptr != end || begin == end)
    throw UsageError(fmt::format("quern corpus mix: --share '{}': expected SOURCE=NUMBER", word));
  return {word.substr(0, cut), share};
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
  const int status = warn_about(s.scan.read, s.scan.damaged, in);
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

int corpus_tokenize(Words args) {
  CorpusFlags flags;
  TokenizeSettings settings;
  const std::string& tokenizer = settings.tokenizer;
  ShardFlags shards;
  bool json = false;
  Args a("corpus tokenize", "write token shards for training");
  flags.declare_reading(a);
  flags.declare_checkpoints(a);
  a.settings(settings).settings(shards).settings(flags.overwriting).json(json, Args::kCounts);
  if (!a.parse(args)) return 0;
  flags.check_reading("corpus tokenize");
  if (shards.out.empty()) throw UsageError("quern corpus tokenize: --out is missing: expected a PREFIX");
  if (tokenizer.empty())
    throw UsageError("quern corpus tokenize: --tokenizer is missing: expected a folder with tokenizer.json");
  const Inputs in = flags.inputs();
  const std::filesystem::path model = model_folder(tokenizer);
  const text::Tokenizer t = text::Tokenizer::load(model);
  if (flags.overwriting.overwrite) replace_finished(shards.out + ".json", in, OutFolder::shared);
  const TokenRun run{.scan = flags.scan(),
                     .end_token = shards.end_token,
                     .tokenizer = fmt::format("{:016x}", file_hash(model / "tokenizer.json")),
                     .prefix = shards.out,
                     .checkpoint_bytes = flags.output().checkpoint_bytes,
                     .rows = settings.rows};
  Json j;
  const TokenShardReport r = with_progress("tokenize", [&](auto&& report_progress) {
    return write_token_shards(in, t, run, report_progress, [&](const TokenShardReport& report) {
      j = report.json();
      j.set("tokenizer", tokenizer), j.set("inputs", inputs_json(in, report.scan.read));
      j = with_files(j, unfinished_of(shards.out + ".json"));
      write_file(shards.out + ".json", j.dump(2) + "\n");
    });
  });
  report_resuming(shards.out, r.went_on);
  const int status = warn_about(r.scan.read, r.scan.damaged, in);
  if (json)
    fmt::print("{}\n", j.dump());
  else
    fmt::print("{}: {} documents, {} tokens\n", shards.out, r.documents, r.tokens);
  return status;
}

int corpus_mix(Words args) {
  CorpusFlags flags;
  std::vector<std::string> shares;
  std::string source_field;
  MixSettings settings;
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
      .json(json, Args::kManifest)
      .note("Name the sources as SOURCE=PATH. The result depends only on the ids of the documents and the seed.");
  if (!a.parse(args)) return 0;
  flags.check("corpus mix");
  if (shares.empty()) throw UsageError("quern corpus mix: --share is missing: give SOURCE=NUMBER for every source");
  check_ranges("corpus mix", list_settings(settings));
  MixConfig c = settings.config();
  for (const std::string& s : shares) c.shares.push_back(parse_share(s));
  c.to = flags.output();
  Inputs in = flags.inputs();
  ScanOptions scan = flags.scan();
  if (!source_field.empty()) {
    if (in.sources != std::vector<std::string>{kUnnamedSource})
      throw UsageError("quern corpus mix: --source-field cannot be used with SOURCE=PATH: name one of them");
    in.sources.clear();
    for (const auto& [name, share] : c.shares) in.sources.push_back(name);
    scan.fields[0].source = source_field;
  }
  flags.clear_output(in);
  Json j;
  const MixReport r = with_progress("mix", [&](auto&& report_progress) {
    return mix_corpus(in, scan, c, report_progress, [&](const MixReport& report) {
      j = report.json();
      j.set("seed", settings.seed), j.set("inputs", inputs_json(in, report.scan.read));
      j = write_manifest(flags.out, j);
    });
  });
  report_resuming(flags.out, r.went_on);
  const int status = warn_about(r.scan.read, r.scan.damaged, in);
  if (json) {
    fmt::print("{}\n", j.dump());
    return status;
  }
  for (const MixedSource& s : r.sources)
    fmt::print("{:<20} share {:.4f}  read {:.3f} times  {:>10} documents {:>14} bytes\n", s.name, s.share, s.epochs,
               s.documents_out, s.bytes_out);
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
    throw UsageError(
        fmt::format("quern corpus sketch: --preset {} has no MinHash signature: expected zyda, zyda2 or fineweb", c.preset));
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
