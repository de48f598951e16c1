// quern corpus: builds a training corpus from raw documents, in one run (build) or stage by stage.
#include "apps/quern/corpus/cmd_corpus.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/menu.h"
#include "quern/base/error.h"
#include "quern/comm/mpi.h"

namespace quern::cli {
namespace {

constexpr MenuItem kItems[] = {
    {"build", "RECIPE.toml", "build a corpus from a recipe: filter, deduplicate, mix, tokenize", corpus_build},
    {"plan", "RECIPE.toml", "divide a build into tasks that one or many machines can run", corpus_plan},
    {"run", "PLAN", "run a plan: all its tasks, here or as job arrays of Slurm", corpus_run},
    {"task", "PLAN ID", "run one task of a plan", corpus_task},
    {"extract", "INPUT…", "documents as JSON lines: main text of web pages, rows of tables", corpus_extract},
    {"filter", "INPUT…", "remove documents by quality rules (C4, Gopher, FineWeb, Zyda)", corpus_filter},
    {"dedup", "INPUT…", "remove exact duplicates and near-duplicates (MinHash, LSH)", corpus_dedup},
    {"bands", "", "which LSH bands serve a similarity threshold", corpus_bands},
    {"exact", "INPUT…", "remove exact duplicates only", corpus_exact},
    {"decontaminate", "INPUT…", "remove documents that share n-grams with benchmarks", corpus_decontaminate},
    {"repeats", "INPUT…", "remove lines, paragraphs, substrings or documents seen earlier", corpus_repeats},
    {"mix", "INPUT…", "mix sources in given proportions, in shuffled order", corpus_mix},
    {"tokenize", "INPUT…", "write token shards for training", corpus_tokenize},
    {"parquet", "INPUT…", "convert documents to Parquet files", corpus_parquet},
    {"annotate", "INPUT…", "add languages, features, scores and labels to every row, as columns", corpus_annotate},
    {"score", "INPUT… --model DIR", "add a column with the score of an encoder", corpus_score},
    {"train-classifier", "--good FILE --bad FILE", "train a text classifier: quality, or one class per label",
     corpus_train_classifier},
    {"stats", "INPUT…", "count documents, bytes, words and tokens", corpus_stats_verb},
    {"sketch", "INPUT…", "write the MinHash signature of every document", corpus_sketch},
    {"stage", "NAME INPUT…", "run a corpus stage that was added to this build", corpus_stage},
};

// The library names no flags: what its messages end with, and the flag that does it.
constexpr std::pair<std::string_view, std::string_view> kFlagsFor[] = {{"name the format", "--form"},
                                                                       {"to be overwritten", "--overwrite"}};

std::string with_flag(std::string message) {
  for (const auto& [end, flag] : kFlagsFor)
    if (message.ends_with(end)) return fmt::format("{} ({})", message, flag);
  return message;
}

}  // namespace

int cmd_corpus(Words args) {
  if (comm::under_mpi() && !args.empty()) {
    constexpr std::string_view kManyRanks[] = {"build", "dedup", "exact", "--help", "-h"};
    if (std::ranges::find(kManyRanks, args[0]) == std::end(kManyRanks))
      throw UsageError(
          fmt::format("quern corpus {}: runs in one process; only build, dedup and exact run under mpirun", args[0]));
  }
  try {
    return choose("corpus", "clean a corpus: filter, deduplicate (MinHash), decontaminate, mix, tokenize", kItems,
                  args);
  } catch (const UsageError&) {
    throw;
  } catch (const Error& e) {
    if (std::string said = with_flag(e.what()); said != e.what()) throw Error(std::move(said));
    throw;
  }
}

}  // namespace quern::cli
