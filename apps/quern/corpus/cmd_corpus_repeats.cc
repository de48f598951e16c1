// quern corpus repeats: lines, paragraphs or documents of n-grams that stood before, out.
#include <cstdio>

#include "apps/quern/cli/progress.h"
#include "apps/quern/corpus/cmd_corpus.h"
#include "apps/quern/corpus/corpus_flags.h"
#include "quern/base/mmap.h"
#include "quern/corpus/stages/repeats.h"
#include "quern/corpus/stages/spans.h"

namespace quern {

int corpus_repeats(Words args) {
  using namespace corpus;
  CorpusFlags flags;
  std::string unit = "paragraph";
  int64_t shortest = 5, n = 13, window = 50, memory_mb = 256;
  RepeatConfig c;
  bool json = false;
  Args a("corpus repeats", "drop lines, paragraphs or documents that stood before");
  flags.declare(a);
  a.flag("--unit", unit,
         "line, paragraph, span (stretches of words), or ngram: documents whose n-grams were nearly all seen")
      .flag("--shortest", shortest, "lines and paragraphs of fewer words stay")
      .flag("--ngram", n, "words of an n-gram")
      .flag("--window", window, "words of the shortest stretch that is cut")
      .flag("--share", c.share, "of a document's n-grams that were seen")
      .flag("--memory-mb", memory_mb, "of the Bloom filter; for spans, for sorting")
      .flag("--json", json, "the manifest on stdout")
      .note(
          "What stands first in the order of the inputs stays. Two bytes a piece keep false answers under 1 in "
          "1000.");
  if (!a.parse(args)) return 0;
  flags.check("corpus repeats");
  if (memory_mb < 1) throw UsageError("quern corpus repeats: --memory-mb takes 1 or more");
  const bool spans = unit == "span";
  if (!spans) c.unit = parse_repeat_unit(unit);
  c.shortest = static_cast<int>(shortest), c.n = static_cast<int>(n);
  c.memory = static_cast<uint64_t>(memory_mb) << 20, c.level = static_cast<int>(flags.level);
  c.shard_bytes = static_cast<uint64_t>(flags.shard_mb) << 20;
  const Inputs in = find_inputs(flags.words, flags.form);
  ScanOptions o;
  o.fields[0].text = flags.text, o.read = flags.policy();
  RepeatReport r;
  {
    Progress progress;
    const auto tell = [&](uint64_t done, uint64_t total) { progress.share("repeats", done, total); };
    const SpanConfig s{static_cast<int>(window), c.memory, c.level, c.shard_bytes};
    r = spans ? drop_repeated_spans(in, o, s, flags.out, tell) : drop_repeats(in, o, c, flags.out, tell);
  }
  warn_about(r.scan.read, r.scan.damaged, in);
  if (r.false_positive_rate > 0.001)
    fmt::print(stderr, "warning: one new piece in {:.0f} looked seen at the end; --memory-mb {} would lower that\n",
               1 / r.false_positive_rate, memory_mb * 4);
  Json j = r.json();
  j.set("unit", unit), j.set("memory_mb", memory_mb), j.set("inputs", in.json());
  write_file(std::filesystem::path(flags.out) / "manifest.json", j.dump(2) + "\n");
  if (json)
    fmt::print("{}\n", j.dump());
  else
    fmt::print("{}: {} of {} documents kept, {} of them cut; {} of {} pieces stood before\n", flags.out, r.kept,
               r.scan.read.documents, r.changed, r.repeated, r.pieces);
  return 0;
}

}  // namespace quern
