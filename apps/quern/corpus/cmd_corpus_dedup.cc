// quern corpus dedup and build: copies and near copies out, survivors as JSONL.zst, manifest.json and report.html
// with what happened; from flags, or from a recipe.
#include <cstdio>
#include <functional>

#include "apps/quern/cli/progress.h"
#include "apps/quern/corpus/cmd_corpus.h"
#include "apps/quern/corpus/corpus_flags.h"
#include "quern/base/mmap.h"
#include "quern/base/version.h"
#include "quern/comm/in_process.h"
#include "quern/comm/mpi.h"
#include "quern/corpus/dedup/dedup.h"
#include "quern/corpus/dedup/page.h"
#include "quern/corpus/filters/filters.h"
#include "quern/corpus/io/hashing.h"
#include "quern/corpus/stages/recipe.h"

namespace quern {
namespace {

using namespace corpus;

constexpr double kLongest = 1e6;  // seconds a rank waits for another one: elections are one rank's

Json manifest(const Inputs& in, const DedupConfig& c, const DedupReport& r, const char* verb) {
  Json j = Json::object(), tool = Json::object();
  tool.set("name", verb), tool.set("version", version());
  j.set("tool", std::move(tool));
  const Json config = c.json();
  j.set("config", config);
  j.set("config_hash", fmt::format("{:016x}", content_hash(config.dump()).low));
  Json files = in.json();
  for (size_t i = 0; i < in.files.size(); ++i)
    files.items()[i].set(
        "xxh3", fmt::format("{:016x}", r.input_hashes.at(i) ? r.input_hashes[i] : file_hash(in.files[i].path)));
  j.set("inputs", std::move(files));
  const Json report = r.json();
  for (const auto& [k, v] : report.as_object()) j.set(k, v);
  return j;
}

struct RankFlags {
  int64_t ranks = 1;
  void declare(Args& a) {
    a.flag("--ranks", ranks, "ranks in this process; for several processes or machines start it with mpirun");
  }
};

void carry_out(const Inputs& in, const DedupConfig& c, const std::filesystem::path& out, bool json, const char* verb,
               Communicator& ranks, const std::function<void()>& finish) {
  DedupReport r;
  Json m;
  {
    Progress progress;
    r = deduplicate(
        in, c, out, [&](const DedupProgress& p) { progress.share(p.stage, p.bytes, p.total_bytes); },
        [&](const DedupReport& report) {
          m = manifest(in, c, report, verb);
          const std::filesystem::path folder = out;
          if (finish) finish();
          write_file(folder / "report.html", corpus_page(m, report.samples));
          write_file(folder / "manifest.json", m.dump(2) + "\n");
        },
        &ranks);
  }
  if (ranks.rank() != 0) return;
  tell_of_resuming(out.string(), {r.resumed, r.discarded});
  warn_about(r.read, r.damaged, in);
  if (json) {
    fmt::print("{}\n", m.dump());
    return;
  }
  fmt::print(
      "{}: {} of {} documents kept; {} exact copies and {} near copies of {} documents removed, the largest cluster "
      "{}\n",
      out.string(), r.kept, r.read.documents, r.exact_removed, r.near_removed, r.clusters, r.largest);
}

int carry_out(const Inputs& in, const DedupConfig& c, const std::filesystem::path& out, bool json, const char* verb,
              const RankFlags& flags, const std::function<void()>& finish = {}) {
  const auto run = [&](Communicator& ranks) { carry_out(in, c, out, json, verb, ranks, finish); };
  if (flags.ranks < 1) throw UsageError("--ranks takes 1 or more");
  if (!under_mpi()) {
    run_ranks(static_cast<int>(flags.ranks), run, {.timeout_s = kLongest});
  } else {
    if (flags.ranks > 1) throw UsageError("--ranks is for one process; mpirun says how many there are");
    run_mpi(run, {.timeout_s = kLongest});
  }
  return 0;
}

}  // namespace

int corpus_exact(Words args) {
  CorpusFlags flags;
  RankFlags ranks;
  std::string scope = "all", score;
  bool json = false;
  Args a("corpus exact", "drop exact copies alone");
  flags.declare(a);
  a.flag("--scope", scope, "all, across sources, or within a source")
      .flag("--score-field", score, "member with a number: of two copies the higher survives")
      .flag("--json", json, "the manifest on stdout");
  ranks.declare(a);
  if (!a.parse(args)) return 0;
  flags.check("corpus exact");
  DedupConfig c = dedup_preset("exact", "fast");
  c.scope = parse_scope(scope);
  c.fields[0].text = flags.text, c.fields[0].score = score, c.read = flags.policy();
  c.level = static_cast<int>(flags.level), c.shard_bytes = static_cast<uint64_t>(flags.shard_mb) << 20;
  return carry_out(find_inputs(flags.words, flags.form), c, flags.out, json, "quern corpus exact", ranks);
}

int corpus_dedup(Words args) {
  CorpusFlags flags;
  RankFlags ranks;
  std::string preset = "zyda", mode = "fast", filter = "none", lists, score, against, save_index;
  std::optional<std::string> verify, clustering, scope;
  std::optional<double> threshold;
  std::optional<int64_t> seed;
  int64_t memory_mb = 512;
  bool json = false, collide_empty = false;
  Args a("corpus dedup", "drop copies and near copies, write the survivors");
  flags.declare(a);
  flags.declare_notes(a);
  a.flag("--preset", preset, "zyda (13 words, 32 bands of 4), zyda2 (25 characters, 8 of 16, across sources), exact")
      .flag("--mode", mode, "fast, or compat: the published hashes bit for bit")
      .flag("--filter", filter, fmt::format("first drop documents by rules: {}", fmt::join(filter_names(), ", ")))
      .flag("--lists", lists, "folder of word lists for the rules")
      .flag("--verify", verify, "none, signature, exact (Jaccard) or containment")
      .flag("--threshold", threshold, "of the verification")
      .flag("--clustering", clustering, "star, or closure: connected components, as published")
      .flag("--scope", scope, "all, across sources, or within a source")
      .flag("--seed", seed, "of the hashes")
      .flag("--collide-empty", collide_empty, "documents shorter than a shingle are one cluster, as published")
      .flag("--score-field", score, "member with a number: of two copies the higher survives")
      .flag("--memory-mb", memory_mb, "for sorting bands")
      .flag("--against", against, "folder of a saved index: its documents win over these, as if read before them")
      .flag("--save-index", save_index, "folder for an index of all survivors, those of --against among them")
      .flag("--json", json, "the manifest on stdout")
      .note(
          "Writes part-*.jsonl.zst, clusters.jsonl.zst, report.html and manifest.json; a run that was killed goes on "
          "where it was when it is started again. Sources rank in the order they are named: "
          "of two copies the one of the better source survives.");
  ranks.declare(a);
  if (!a.parse(args)) return 0;
  flags.check("corpus dedup");
  if (memory_mb < 1) throw UsageError("quern corpus dedup: --memory-mb takes 1 or more");
  DedupConfig c = dedup_preset(preset, mode);
  if (verify) c.verify = parse_verification(*verify);
  if (threshold) c.threshold = *threshold;
  if (clustering) c.clustering = parse_clustering(*clustering);
  if (scope) c.scope = parse_scope(*scope);
  if (seed) c.sketch.seed = static_cast<uint32_t>(*seed);
  c.collide_empty = collide_empty;
  c.fields[0].text = flags.text, c.fields[0].score = score, c.fields[0].url = flags.url, c.read = flags.policy(),
  c.filters = {filter}, c.lists = lists;
  c.level = static_cast<int>(flags.level);
  c.shard_bytes = static_cast<uint64_t>(flags.shard_mb) << 20, c.memory = static_cast<uint64_t>(memory_mb) << 20;
  c.checkpoint_bytes = static_cast<uint64_t>(flags.checkpoint_mb) << 20;
  c.against = against, c.save_index = save_index;
  return carry_out(find_inputs(flags.words, flags.form), c, flags.out, json, "quern corpus dedup", ranks);
}

int corpus_build(Words args) {
  std::string file, out, against, save_index;
  RankFlags ranks;
  bool json = false, check = false;
  Args a("corpus build", "a corpus from a recipe");
  a.positional("RECIPE.toml", file)
      .flag("--out", out,
            "folder for part-*.jsonl.zst, clusters.jsonl.zst, report.html, manifest.json and recipe.json")
      .flag("--check", check, "say what the recipe comes to and stop")
      .flag("--against", against, "folder of a saved index: its documents win over the recipe's")
      .flag("--save-index", save_index, "folder for an index of all survivors, those of --against among them")
      .flag("--json", json, "the manifest on stdout");
  ranks.declare(a);
  if (!a.parse(args)) return 0;
  const CorpusRecipe recipe = CorpusRecipe::load(file);
  if (check) {
    fmt::print("{}\n", recipe.config().json().dump(2));
    return 0;
  }
  if (out.empty()) throw UsageError("quern corpus build: --out is missing");
  DedupConfig c = recipe.config();
  c.against = against, c.save_index = save_index;
  return carry_out(recipe.inputs(), c, out, json, "quern corpus build", ranks, [&] {
    write_file(std::filesystem::path(out) / "recipe.json", write_value(recipe).dump(2) + "\n");
  });
}

}  // namespace quern
