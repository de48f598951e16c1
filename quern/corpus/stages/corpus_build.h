// A corpus from a recipe: deduplication with its manifest and HTML report, then the later stages (build.h).
//
//   CorpusPlan plan = plan_corpus(CorpusRecipe::load("recipe.toml"), {"corpus"});
//   DedupOutcome dedup = dedup_corpus(plan, ranks);
//   if (plan.later) run_later_stages(plan.recipe, *plan.later, plan.to.out);      on the first rank
//
// A killed build resumes when it is started again with the same recipe, inputs and folder.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quern/comm/communicator.h"
#include "quern/corpus/dedup/dedup.h"
#include "quern/corpus/stages/build.h"

namespace quern::corpus {

// Throws Error when `out` is one of the named folders, or holds an input itself: outputs would be read as inputs, and
// inputs removed as what a killed run left. `setting` is what the caller knows `out` by.
void refuse_input_folder(const std::vector<std::string>& words, const Inputs& in, const std::string& out,
                         const std::string& setting);

Json dedup_manifest(const Json& tool, const Inputs& inputs, const DedupConfig& config, const DedupReport& report);
// Manifests of the stages that follow deduplication, in the output folder.
std::vector<std::string> later_manifests(const CorpusRecipe& recipe);

struct DedupTask {
  const Inputs& inputs;
  const DedupConfig& config;
  std::filesystem::path out;
  Json tool;  // name and version, for the manifest
  std::function<void(const DedupProgress&)> progress = {};
  std::function<void(const DedupReport&)> finish = {};  // ahead of manifest and report
  std::vector<std::string> later = {};                  // manifests of stages that follow, in `out`
  bool overwrite = false;                               // the finished run that lies in `out`
};
struct DedupOutcome {
  bool ran = false;  // in this process, on this rank; only the first rank has a report
  DedupReport report = {};
  Json manifest = {};  // null on the other ranks
};
// Deduplicates into `out` and writes manifest.json and report.html there. All ranks call it.
DedupOutcome run_dedup(const DedupTask& task, comm::Communicator& ranks);

// Where a build writes, and the saved indexes that deduplication uses; flags of `quern corpus` and options of the C
// interface.
struct BuildTarget {
  std::string out = {}, against = {}, save_index = {};
  bool overwrite = false;
  std::string setting = "out";  // what the caller knows `out` by, for messages
  template <class V>
  void visit(V& v) {
    v("out", out,
      "output folder: part-*.jsonl.zst, clusters.jsonl.zst, report.html, manifest.json, recipe.json; mixed/ and "
      "tokens.* where the recipe asks for them",
      {.value = "DIR"});
    visit_overwrite(v, overwrite);
    v("against", against, "saved index to deduplicate against: its documents are kept over the inputs",
      {.value = "DIR"});
    v("save_index", save_index, "save an index of all kept documents, including those of the index used",
      {.value = "DIR"});
  }
};
struct CorpusPlan {
  CorpusRecipe recipe;
  BuildTarget to;
  DedupConfig dedup;
  Inputs inputs;
  std::optional<BuildState> later;  // null: the recipe ends in deduplication
};
CorpusPlan plan_corpus(CorpusRecipe recipe, BuildTarget to);  // throws Error for what cannot be built

// Deduplication of a build, and OUT/recipe.json; `ran` is false where an earlier process did it. All ranks call it with
// one plan, whose `later` the first rank completes.
DedupOutcome dedup_corpus(CorpusPlan& plan, comm::Communicator& ranks, const Json& tool,
                          const std::function<void(const DedupProgress&)>& progress = {});

}  // namespace quern::corpus
