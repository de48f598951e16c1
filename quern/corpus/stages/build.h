// The stages of a corpus recipe behind deduplication: [mix] writes the kept documents to OUT/mixed in the proportions of
// their sources' shares, [tokenize] writes OUT/tokens.bin and OUT/tokens.idx for training. OUT/build.json says, until the
// last of them is done, that deduplication is: a killed build resumes in the stage it was in.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quern/corpus/stages/mix.h"
#include "quern/corpus/stages/recipe.h"
#include "quern/corpus/stages/token_shards.h"

namespace quern::corpus {

// What the later stages know of deduplication.
struct BuildState {
  std::string identity;        // of the recipe and the inputs as they lie there
  std::vector<uint64_t> kept;  // documents, by source
  std::vector<uint64_t> rows;  // by part, where tasks wrote them; else empty
  template <class V>
  void visit(V& v) {
    v("identity", identity), v("kept", kept), v("rows", rows);
  }
};

struct BuildReport {
  std::optional<MixReport> mix;            // null: not asked for, or an earlier process has done it
  std::optional<TokenShardReport> tokens;  // likewise
};
using BuildProgress = std::function<void(const char* stage, uint64_t bytes, uint64_t total)>;

bool has_later_stages(const CorpusRecipe& recipe);
// Throws Error for sources that a later stage cannot read; null when there is none.
std::optional<BuildState> plan_build(const CorpusRecipe& recipe, const DedupConfig& dedup, const Inputs& inputs);
// What the same build left in OUT when deduplication was done there; null: nothing, or another build. Throws Error when
// the output of later stages lies there without it.
std::optional<BuildState> saved_build(const std::filesystem::path& out, const std::string& identity);
void save_build(const std::filesystem::path& out, const BuildState& state);
// A later stage as one process runs it, and as tasks divide it (corpus/tasks). raw: the inputs of the build.
struct BuildFolder {
  const CorpusRecipe& recipe;
  const BuildState& state;
  const Inputs& raw;
  std::filesystem::path out;
};
struct MixJob {
  Inputs inputs;
  ScanOptions scan;
  MixConfig config;
};
struct TokenJob {
  Inputs inputs;
  TokenRun run;
  std::filesystem::path tokenizer;
};
MixJob mix_job(const BuildFolder& build);
TokenJob token_job(const BuildFolder& build);
// Their manifests, but for the names of files.
Json mix_json(const CorpusRecipe& recipe, const MixReport& report);
Json tokens_json(const CorpusRecipe& recipe, const TokenShardReport& report);
// The report gets what they came to, and the build is done.
void end_build(const CorpusRecipe& recipe, const std::filesystem::path& out);

BuildReport run_later_stages(const CorpusRecipe& recipe, const BuildState& state, const std::filesystem::path& out,
                             const BuildProgress& progress = {});

}  // namespace quern::corpus
