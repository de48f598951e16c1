// quern corpus: from raw documents to a corpus, whole (build) or stage by stage.
#include "apps/quern/cmd_corpus.h"

#include "apps/quern/args.h"
#include "apps/quern/verbs.h"
#include "quern/base/nearest.h"
#include "quern/comm/mpi.h"

namespace quern {
namespace {

struct SubVerb {
  const char* name;
  const char* help;
  int (*run)(Words);
  bool many_ranks = false;
};
constexpr SubVerb kSubVerbs[] = {
    {"build", "carry out a corpus recipe", corpus_build, true},
    {"filter", "drop documents by a filter's rules", corpus_filter},
    {"dedup", "drop copies and near copies, write the survivors", corpus_dedup, true},
    {"exact", "drop exact copies alone", corpus_exact, true},
    {"decontaminate", "drop documents that hold n-grams of benchmarks", corpus_decontaminate},
    {"repeats", "drop lines, paragraphs or documents that stood before", corpus_repeats},
    {"mix", "give each source its share of the text, in a shuffled order", corpus_mix},
    {"tokenize", "token shards for training", corpus_tokenize},
    {"parquet", "write documents as Parquet files", corpus_parquet},
    {"train-classifier", "learn to tell good texts from bad ones", corpus_train_classifier},
    {"stats", "count documents, bytes, words, tokens", corpus_stats_verb},
    {"sketch", "write every document's sketch", corpus_sketch},
};

}  // namespace

int cmd_corpus(Words args) {
  std::vector<std::string> names;
  if (args.empty() || args[0] == "--help" || args[0] == "-h") {
    fmt::print("usage: quern corpus VERB …\n\n");
    for (const SubVerb& v : kSubVerbs) fmt::print("  {:<16} {}\n", v.name, v.help);
    return args.empty() ? 2 : 0;
  }
  for (const SubVerb& v : kSubVerbs) {
    if (args[0] == v.name) {
      if (under_mpi() && !v.many_ranks)
        throw UsageError(
            fmt::format("quern corpus {}: a stage for one process; mpirun is for build, dedup, exact", v.name));
      return v.run(args.subspan(1));
    }
    names.emplace_back(v.name);
  }
  throw UsageError(fmt::format("quern corpus: unknown verb '{}'{}", args[0], did_you_mean(args[0], names)));
}

}  // namespace quern
