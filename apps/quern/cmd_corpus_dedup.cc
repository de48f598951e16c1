// quern corpus dedup: copies and near copies out, survivors as JSONL.zst, manifest.json with what happened.
#include <cstdio>

#include "apps/quern/args.h"
#include "apps/quern/cmd_corpus.h"
#include "apps/quern/progress.h"
#include "quern/base/mmap.h"
#include "quern/base/threads.h"
#include "quern/corpus/dedup.h"
#include "quern/corpus/hashing.h"

namespace quern {
namespace {

using namespace corpus;

void warn(const DedupReport& r, const Inputs& in) {
  if (!in.passed_over.empty())
    fmt::print(stderr, "warning: {} files in the named folders are of no known kind and were left alone, {} first\n",
               in.passed_over.size(), in.passed_over[0]);
  uint64_t bad = 0;
  for (int i = 2; i < kRowProblems; ++i) bad += i == static_cast<int>(RowProblem::not_text) ? 0 : r.read.problems[i];
  if (bad > 0) fmt::print(stderr, "warning: {} rows are no documents and were skipped\n", bad);
  for (const std::string& e : r.read.examples) fmt::print(stderr, "  {}\n", e);
  for (const std::string& d : r.damaged) fmt::print(stderr, "warning: {}\n", d);
  if (r.read.replaced > 0)
    fmt::print(stderr, "warning: in {} documents U+FFFD stands for bytes that were no UTF-8\n", r.read.replaced);
}

Json manifest(const Inputs& in, const DedupConfig& c, const DedupReport& r) {
  Json j = Json::object(), tool = Json::object();
  tool.set("name", "quern corpus dedup"), tool.set("version", QUERN_VERSION);
  j.set("tool", std::move(tool));
  const Json config = c.json();
  j.set("config", config);
  j.set("config_hash", fmt::format("{:016x}", content_hash(config.dump()).low));
  Json files = in.json();
  for (size_t i = 0; i < in.files.size(); ++i)
    files.items()[i].set("xxh3", fmt::format("{:016x}", file_hash(in.files[i].path)));
  j.set("inputs", std::move(files));
  const Json report = r.json();
  for (const auto& [k, v] : report.as_object()) j.set(k, v);
  return j;
}

}  // namespace

int corpus_dedup(Words args) {
  std::vector<std::string> words;
  std::string preset = "zyda", mode = "fast", out, form = "auto", text, score, on_bad = "skip";
  std::optional<std::string> verify, clustering, scope;
  std::optional<double> threshold;
  std::optional<int64_t> seed;
  int64_t level = 3, shard_mb = 1024, memory_mb = 512, max_row_mb = 64;
  bool json = false, collide_empty = false;
  Args a("corpus dedup", "drop copies and near copies, write the survivors");
  a.rest("[SOURCE=]INPUT", words)
      .flag("--preset", preset,
            "zyda (13 words, 32 bands of 4), zyda2 (25 characters, 8 of 16, across sources), exact")
      .flag("--mode", mode, "fast, or compat: the published hashes bit for bit")
      .flag("--out", out, "folder for part-*.jsonl.zst, clusters.jsonl.zst and manifest.json")
      .flag("--verify", verify, "none, signature, exact (Jaccard) or containment")
      .flag("--threshold", threshold, "of the verification")
      .flag("--clustering", clustering, "star, or closure: connected components, as published")
      .flag("--scope", scope, "all, across sources, or within a source")
      .flag("--seed", seed, "of the hashes")
      .flag("--collide-empty", collide_empty, "documents shorter than a shingle are one cluster, as published")
      .flag("--form", form, "of the inputs: auto (by ending), jsonl, text or warc")
      .flag("--text-field", text, "member of a JSON line that holds the text (text)")
      .flag("--score-field", score, "member with a number: of two copies the higher survives")
      .flag("--on-bad", on_bad, "rows that are no documents: skip, stop, or replace (bytes that are no UTF-8)")
      .flag("--max-row-mb", max_row_mb, "longer rows are skipped and counted")
      .flag("--level", level, "of zstd, 1 to 19")
      .flag("--shard-mb", shard_mb, "of text in one output file")
      .flag("--memory-mb", memory_mb, "for sorting bands")
      .flag("--json", json, "the manifest on stdout")
      .note("Sources rank in the order they are named: of two copies the one of the better source survives.");
  if (!a.parse(args)) return 0;
  if (words.empty()) throw UsageError("quern corpus dedup: name at least one input file or folder");
  if (out.empty()) throw UsageError("quern corpus dedup: --out is missing");
  if (on_bad != "skip" && on_bad != "stop" && on_bad != "replace")
    throw UsageError(fmt::format("quern corpus dedup: --on-bad '{}', expected skip, stop or replace", on_bad));
  if (level < 1 || level > 19)
    throw UsageError(fmt::format("quern corpus dedup: --level {}, expected 1 to 19", level));
  if (shard_mb < 1 || memory_mb < 1 || max_row_mb < 1 || max_row_mb > 1024)
    throw UsageError("quern corpus dedup: --shard-mb and --memory-mb take 1 or more, --max-row-mb 1 to 1024");
  DedupConfig c = dedup_preset(preset, mode);
  if (verify) c.verify = parse_verification(*verify);
  if (threshold) c.threshold = *threshold;
  if (clustering) c.clustering = parse_clustering(*clustering);
  if (scope) c.scope = parse_scope(*scope);
  if (seed) c.sketch.seed = static_cast<uint32_t>(*seed);
  c.collide_empty = collide_empty;
  if (!text.empty()) c.fields.text = text;
  c.fields.score = score;
  c.read = {on_bad == "stop", on_bad == "replace", static_cast<uint64_t>(max_row_mb) << 20};
  c.level = static_cast<int>(level);
  c.shard_bytes = static_cast<uint64_t>(shard_mb) << 20, c.memory = static_cast<uint64_t>(memory_mb) << 20;
  const Inputs in = find_inputs(words, form);
  DedupReport r;
  {
    Progress progress;
    r = deduplicate(in, c, {}, out, [&](const DedupProgress& p) { progress.share(p.stage, p.bytes, p.total_bytes); });
  }
  warn(r, in);
  const Json m = manifest(in, c, r);
  write_file(std::filesystem::path(out) / "manifest.json", m.dump(2) + "\n");
  if (json) {
    fmt::print("{}\n", m.dump());
    return 0;
  }
  fmt::print(
      "{}: {} of {} documents kept; {} exact copies and {} near copies of {} documents removed, the largest cluster "
      "{}\n",
      out, r.kept, r.read.documents, r.exact_removed, r.near_removed, r.clusters, r.largest);
  return 0;
}

}  // namespace quern
