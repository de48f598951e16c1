// quern corpus: from raw documents to a corpus, whole (build) or stage by stage.
#include "apps/quern/corpus/cmd_corpus.h"

#include <algorithm>
#include <string_view>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/menu.h"
#include "quern/comm/mpi.h"

namespace quern {
namespace {

constexpr MenuItem kItems[] = {
    {"build", "RECIPE.toml", "carry out a corpus recipe", corpus_build},
    {"filter", "INPUT…", "drop documents by a filter's rules", corpus_filter},
    {"dedup", "INPUT…", "drop copies and near copies, write the survivors", corpus_dedup},
    {"exact", "INPUT…", "drop exact copies alone", corpus_exact},
    {"decontaminate", "INPUT…", "drop documents that hold n-grams of benchmarks", corpus_decontaminate},
    {"repeats", "INPUT…", "drop lines, paragraphs or documents that stood before", corpus_repeats},
    {"mix", "INPUT…", "give each source its share of the text, in a shuffled order", corpus_mix},
    {"tokenize", "INPUT…", "token shards for training", corpus_tokenize},
    {"parquet", "INPUT…", "write documents as Parquet files", corpus_parquet},
    {"train-classifier", "", "learn to tell good texts from bad ones", corpus_train_classifier},
    {"stats", "INPUT…", "count documents, bytes, words, tokens", corpus_stats_verb},
    {"sketch", "INPUT…", "write every document's sketch", corpus_sketch},
};

}  // namespace

int cmd_corpus(Words args) {
  if (under_mpi() && !args.empty()) {
    constexpr std::string_view kManyRanks[] = {"build", "dedup", "exact", "--help", "-h"};
    if (std::ranges::find(kManyRanks, args[0]) == std::end(kManyRanks))
      throw UsageError(
          fmt::format("quern corpus {}: a stage for one process; mpirun is for build, dedup, exact", args[0]));
  }
  return choose("corpus", "text to what a model learns from: filter, deduplicate, mix, cut", kItems, args);
}

}  // namespace quern
