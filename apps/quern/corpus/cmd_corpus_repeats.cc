// quern corpus repeats: removes lines, paragraphs, substrings or documents that were seen earlier.
#include <cstdio>

#include "apps/quern/cli/progress.h"
#include "apps/quern/cli/shared_flags.h"
#include "apps/quern/corpus/cmd_corpus.h"
#include "apps/quern/corpus/corpus_flags.h"
#include "quern/corpus/run/run_folder.h"
#include "quern/corpus/stages/repeats.h"
#include "quern/corpus/stages/spans.h"

namespace quern::cli {

int corpus_repeats(Words args) {
  using namespace corpus;
  CorpusFlags flags;
  std::string unit = "paragraph";
  RepeatConfig c;
  NgramFlag ngram{.words = c.n};
  int64_t shortest = c.shortest, window = SpanConfig().window;
  int64_t memory_mb = static_cast<int64_t>(c.memory >> 20);
  bool json = false;
  Args a("corpus repeats", "remove lines, paragraphs, substrings or documents seen earlier");
  flags.declare(a);
  a.flag("--unit NAME", unit,
         "what to remove: line, paragraph, span (exact-substring deduplication), or ngram (documents with mostly "
         "n-grams seen earlier)")
      .flag("--min-words N", shortest, "line, paragraph: minimum number of words; shorter ones are kept")
      .alias("--shortest")
      .settings(ngram)
      .flag("--window N", window, "span: minimum length of a removed substring, in words")
      .flag("--share X", c.share, "ngram: fraction of n-grams seen earlier at which a document is removed")
      .flag("--memory-mib MIB", memory_mb, "memory of the Bloom filter (span: for sorting), in MiB")
      .alias("--memory-mb")
      .json(json, Args::kManifest)
      .note(
          "The first occurrence in the order of the inputs is kept. Two bytes of memory per line, paragraph or "
          "n-gram\n"
          "keep false positives below 1 in 1000.");
  if (!a.parse(args)) return 0;
  flags.check("corpus repeats");
  if (memory_mb < 1)
    throw UsageError(fmt::format("quern corpus repeats: --memory-mib {}: expected 1 or more", memory_mb));
  const bool spans = unit == "span";
  if (!spans) c.unit = parse_repeat_unit(unit);
  c.shortest = static_cast<int>(shortest), c.n = static_cast<int>(ngram.words);
  c.memory = static_cast<uint64_t>(memory_mb) << 20, c.level = flags.output().level;
  c.shard_bytes = flags.output().shard_bytes;
  const Inputs in = flags.inputs();
  flags.clear_output(in);
  ScanOptions o;
  o.fields[0].text = flags.source().text_field, o.read = flags.recipe.read.policy();
  Json j;
  const auto finish = [&](const RepeatReport& report) {
    j = report.json();
    j.set("unit", unit), j.set("memory_mb", memory_mb), j.set("inputs", inputs_json(in, report.scan.read));
    j = write_manifest(flags.out, j);
  };
  RepeatReport r;
  {
    Progress progress;
    const auto report_progress = [&](uint64_t done, uint64_t total) { progress.share("repeats", done, total); };
    const SpanConfig s{static_cast<int>(window), c.memory, c.level, c.shard_bytes};
    r = spans ? drop_repeated_spans(in, o, s, flags.out, report_progress, finish)
              : drop_repeats(in, o, c, flags.out, report_progress, finish);
  }
  const int status = warn_about(r.scan.read, r.scan.damaged, in);
  if (r.false_positive_rate > 0.001)
    fmt::print(stderr,
               "warning: the Bloom filter is full: 1 in {:.0f} new pieces was a false positive at the end; use "
               "--memory-mib {}\n",
               1 / r.false_positive_rate, memory_mb * 4);
  if (json)
    fmt::print("{}\n", j.dump());
  else
    fmt::print("{}: kept {} of {} documents, {} of them shortened; {} of {} pieces were seen earlier\n", flags.out,
               r.kept, r.scan.read.documents, r.changed, r.repeated, r.pieces);
  return status;
}

}  // namespace quern::cli
