// quern corpus dedup and build: remove exact duplicates and near-duplicates, write the kept documents as JSONL.zst
// with manifest.json and report.html; from flags, or from a recipe.
#include <cstdio>
#include <filesystem>
#include <functional>

#include "apps/quern/cli/progress.h"
#include "apps/quern/corpus/cmd_corpus.h"
#include "apps/quern/corpus/corpus_flags.h"
#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/base/version.h"
#include "quern/comm/in_process.h"
#include "quern/comm/mpi.h"
#include "quern/corpus/dedup/dedup.h"
#include "quern/corpus/dedup/html_report.h"
#include "quern/corpus/io/hashing.h"
#include "quern/corpus/stages/build.h"
#include "quern/corpus/stages/recipe.h"

namespace quern::cli {
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
    a.flag("--ranks N", ranks, "number of ranks in this process; for several processes or machines use mpirun");
  }
};

struct IndexFlags {
  std::string against, save;
  void declare(Args& a) {
    a.flag("--against DIR", against, "saved index to deduplicate against: its documents are kept over the inputs")
        .flag("--save-index DIR", save, "save an index of all kept documents, including those of --against");
  }
  void apply(DedupConfig& c) const { c.against = against, c.save_index = save; }
};

// What a deduplication run told, on the process of the first rank.
struct Study {
  bool first = false;
  DedupReport report;
  Json manifest;
};

void run_study(const Inputs& in, const DedupConfig& c, const std::filesystem::path& out, const char* verb,
               comm::Communicator& ranks, const std::function<void(const DedupReport&)>& finish, Study& study) {
  Json m;
  DedupReport r;
  {
    Progress progress;
    r = deduplicate(
        in, c, out, [&](const DedupProgress& p) { progress.share(p.stage, p.bytes, p.total_bytes); },
        [&](const DedupReport& report) {
          m = manifest(in, c, report, verb);
          const std::filesystem::path folder = out;
          if (finish) finish(report);
          write_file(folder / "report.html", corpus_html_report(m, report.samples));
          write_file(folder / "manifest.json", m.dump(2) + "\n");
        },
        &ranks);
  }
  if (ranks.rank() == 0) study = {true, std::move(r), std::move(m)};
}

void on_ranks(const RankFlags& flags, const std::function<void(comm::Communicator&)>& run) {
  if (flags.ranks < 1) throw UsageError(fmt::format("--ranks {}: expected 1 or more", flags.ranks));
  if (!comm::under_mpi()) {
    comm::run_ranks(static_cast<int>(flags.ranks), run, {.timeout_s = kLongest});
  } else {
    if (flags.ranks > 1)
      throw UsageError("--ranks cannot be used under mpirun, which sets the number of ranks itself (mpirun -n N)");
    comm::run_mpi(run, {.timeout_s = kLongest});
  }
}

void report_study(const Study& s, const Inputs& in, const std::string& out, bool json) {
  const DedupReport& r = s.report;
  report_resuming(out, {r.resumed, r.discarded});
  warn_about(r.read, r.damaged, in);
  if (!json)
    fmt::print(
        "{}: kept {} of {} documents; removed {} exact duplicates and {} near-duplicates in {} clusters, the largest "
        "of {}\n",
        out, r.kept, r.read.documents, r.exact_removed, r.near_removed, r.clusters, r.largest);
}

int run_study(const Inputs& in, const DedupConfig& c, const std::string& out, bool json, const char* verb,
              const RankFlags& flags) {
  Study study;
  on_ranks(flags, [&](comm::Communicator& ranks) { run_study(in, c, out, verb, ranks, {}, study); });
  if (!study.first) return 0;
  report_study(study, in, out, json);
  if (json) fmt::print("{}\n", study.manifest.dump());
  return 0;
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

// The configuration on stdout, the sources on stderr.
int check_recipe(const CorpusRecipe& recipe) {
  Json config = recipe.config().json();
  if (recipe.mix) config.set("mix", write_value(*recipe.mix));
  if (recipe.tokenize) config.set("tokenize", write_value(*recipe.tokenize));
  fmt::print("{}\n", config.dump(2));
  std::fflush(stdout);
  for (const SourceSettings& s : recipe.source)
    fmt::print(stderr, "source {}: {}\n", s.name, fmt::join(s.paths, ", "));
  for (const SourceSettings& s : recipe.source)
    for (const std::string& path : s.paths)
      if (!std::filesystem::exists(path)) fmt::print(stderr, "source {}: {}: no such file or folder\n", s.name, path);
  return 0;
}

}  // namespace

int corpus_exact(Words args) {
  CorpusFlags flags;
  RankFlags ranks;
  bool json = false;
  flags.recipe.dedup.preset = "exact";
  Args a("corpus exact", "remove exact duplicates only");
  flags.declare(a);
  a.settings(flags.recipe.dedup, {{"scope", "all"}})
      .settings(flags.source(), {{"score_field"}})
      .json(json, Args::kManifest);
  ranks.declare(a);
  if (!a.parse(args)) return 0;
  flags.check("corpus exact");
  return run_study(flags.inputs(), flags.recipe.config(), flags.out, json, "quern corpus exact", ranks);
}

int corpus_dedup(Words args) {
  CorpusFlags flags;
  RankFlags ranks;
  IndexFlags index;
  bool json = false;
  Args a("corpus dedup", "remove exact duplicates and near-duplicates (MinHash, LSH)");
  flags.declare(a);
  flags.declare_checkpoints(a);
  a.settings(flags.recipe.dedup).settings(flags.source(), {{"score_field"}});
  flags.declare_filter(a);
  index.declare(a);
  a.json(json, Args::kManifest)
      .note(
          "Writes part-*.jsonl.zst, clusters.jsonl.zst, report.html and manifest.json. A killed run resumes when it "
          "is\n"
          "started again. Sources rank in the order given: of two duplicates the one from the earlier source is "
          "kept.");
  ranks.declare(a);
  if (!a.parse(args)) return 0;
  flags.check("corpus dedup");
  check_ranges("corpus dedup", list_settings(flags.recipe.dedup));
  DedupConfig c = flags.recipe.config();
  c.checkpoint_bytes = flags.output().checkpoint_bytes;
  index.apply(c);
  return run_study(flags.inputs(), c, flags.out, json, "quern corpus dedup", ranks);
}

int corpus_build(Words args) {
  std::string file, out;
  RankFlags ranks;
  IndexFlags index;
  bool json = false, check = false;
  Args a("corpus build", "build a corpus from a recipe: filter, deduplicate, mix, tokenize");
  a.positional("RECIPE.toml", file)
      .flag("--out DIR", out,
            "output folder: part-*.jsonl.zst, clusters.jsonl.zst, report.html, manifest.json, recipe.json; mixed/ "
            "and tokens.* where the recipe asks for them")
      .flag("--check", check, "print the resolved configuration and exit");
  index.declare(a);
  a.json(json, Args::kManifest);
  ranks.declare(a);
  if (!a.parse(args)) return 0;
  const CorpusRecipe recipe = CorpusRecipe::load(file);
  if (check) return check_recipe(recipe);
  if (out.empty()) throw UsageError("quern corpus build: --out is missing: expected a folder");
  DedupConfig c = recipe.config();
  index.apply(c);
  const Inputs in = recipe.inputs();
  for (const SourceSettings& s : recipe.source) refuse_input_folder(s.paths, in, out);
  std::optional<BuildState> plan = plan_build(recipe, c, in);
  Study study;
  on_ranks(ranks, [&](comm::Communicator& all) {
    // The first rank's word on it: it may be done with all of this before another one looks.
    std::optional<BuildState> saved;
    if (all.rank() == 0 && plan) saved = saved_build(out, plan->identity);
    if (!Ranks(&all).from_first(saved ? "deduplicated" : "").empty()) {
      if (all.rank() == 0) study.manifest = Json::read(std::filesystem::path(out) / "manifest.json"), plan = saved;
      return;
    }
    const auto finish = [&](const DedupReport& report) {
      write_file(std::filesystem::path(out) / "recipe.json", write_value(recipe).dump(2) + "\n");
      if (!plan) return;
      for (size_t s = 0; s < in.sources.size(); ++s)  // behind those of an index
        plan->kept.push_back(report.sources[report.sources.size() - in.sources.size() + s].kept);
      save_build(out, *plan);
    };
    run_study(in, c, out, "quern corpus build", all, finish, study);
  });
  if (study.manifest.is_null()) return 0;  // not the first rank
  if (study.first) report_study(study, in, out, json);
  if (plan) run_later_stages(recipe, *plan, out, json, study.manifest);
  if (json) fmt::print("{}\n", study.manifest.dump());
  return 0;
}

}  // namespace quern::cli
