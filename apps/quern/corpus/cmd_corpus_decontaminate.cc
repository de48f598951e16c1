// quern corpus decontaminate: documents that hold n-grams of benchmarks are dropped.
#include <cstdio>

#include "apps/quern/cli/progress.h"
#include "apps/quern/corpus/cmd_corpus.h"
#include "apps/quern/corpus/corpus_flags.h"
#include "quern/base/mmap.h"
#include "quern/corpus/filters/ngram_index.h"
#include "quern/corpus/run/scan.h"
#include "quern/corpus/stages/filter_stage.h"

namespace quern {

int corpus_decontaminate(Words args) {
  using namespace corpus;
  CorpusFlags flags;
  std::vector<std::string> against, fields;
  int64_t n = 13, shortest = 8, least = 1;
  bool rejects = false, reasons = false, json = false;
  Args a("corpus decontaminate", "drop documents that hold n-grams of benchmarks");
  flags.declare(a);
  flags.declare_notes(a);
  a.flag("--against", against, "benchmark: a file or folder; may be given again and again")
      .flag("--against-field", fields, "member of its JSON lines that is looked for (text); may be given again")
      .flag("--words", n, "in an n-gram")
      .flag("--shortest", shortest, "an item of fewer words is left out, one shorter than an n-gram counts whole")
      .flag("--least", least, "n-grams in common that reject a document")
      .flag("--rejects", rejects, "keep rejected documents in reject-*.jsonl.zst")
      .flag("--reasons", reasons, "write reasons.jsonl with every rejected document")
      .flag("--json", json, "the counts as one JSON object");
  if (!a.parse(args)) return 0;
  flags.check("corpus decontaminate");
  if (against.empty()) throw UsageError("quern corpus decontaminate: --against is missing");
  if (fields.empty()) fields = {"text"};
  auto index = std::make_shared<NgramIndex>(
      NgramOptions{static_cast<int>(n), static_cast<int>(shortest), static_cast<int>(least)});
  const Inputs benchmarks = find_inputs(against, "auto", "benchmark");
  for (const std::string& field : fields) {
    struct Nothing {};
    ScanOptions o;
    o.fields[0].text = field;
    const ScanReport r = scan_documents<Nothing, std::vector<std::string>>(
        benchmarks, o, [] { return Nothing(); },
        [](Nothing&, const DocumentView& d, std::vector<std::string>& items) { items.emplace_back(d.text); },
        [&](std::vector<std::string>&& items) {
          for (const std::string& item : items) index->add(item);
        });
    warn_about(r.read, r.damaged, benchmarks);
  }
  index->finish();
  if (index->grams() == 0) fail("the benchmarks hold no n-gram: every item is shorter than {} words", shortest);
  if (index->too_short() > 0)
    fmt::print(stderr, "warning: {} of {} items are shorter than {} words and are not looked for\n",
               index->too_short(), index->items(), shortest);
  const Inputs in = find_inputs(flags.words, flags.form);
  const FilterRun run{.make = decontamination_filter(index),
                      .what = run_identity(benchmarks, fmt::format("decontaminate {} {} {} {}", n, shortest, least,
                                                                   fmt::join(fields, "\n"))),
                      .scan = flags.scan(),
                      .rejects = rejects,
                      .reasons = reasons,
                      .to = flags.output()};
  Json j;
  FilterReport r;
  {
    Progress progress;
    r = filter_corpus(
        in, run, [&](uint64_t done, uint64_t total) { progress.share("decontaminate", done, total); },
        [&](const FilterReport& report) {
          Json of = Json::object();
          j = report.json();
          of.set("inputs", benchmarks.json()), of.set("items", static_cast<int64_t>(index->items()));
          of.set("too_short", static_cast<int64_t>(index->too_short()));
          of.set("ngrams", static_cast<int64_t>(index->grams())), of.set("words", n), of.set("least", least);
          j.set("benchmarks", std::move(of)), j.set("inputs", in.json());
          write_file(std::filesystem::path(flags.out) / "manifest.json", j.dump(2) + "\n");
        });
  }
  tell_of_resuming(flags.out, r.went_on);
  warn_about(r.scan.read, r.scan.damaged, in);
  if (json)
    fmt::print("{}\n", j.dump());
  else
    fmt::print("{}: {} of {} documents kept\n", flags.out, r.kept, r.scan.read.documents);
  return 0;
}

}  // namespace quern
