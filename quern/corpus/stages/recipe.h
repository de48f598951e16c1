// Corpus recipe: sources in rank order, each with its fields, filter and label; deduplication; output; and, when their
// tables are there, mixture and token shards (build.h). TOML, one table per heading (corpus_settings.h); an unknown key
// is an Error with the nearest name. Relative paths start from the recipe's folder.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "quern/corpus/stages/corpus_settings.h"

namespace quern::corpus {

struct CorpusRecipe {
  std::string title, lists;
  std::vector<SourceSettings> source;
  ReadSettings read;
  DedupSettings dedup;
  WriteSettings write;
  std::optional<MixSettings> mix;
  std::optional<TokenizeSettings> tokenize;
  template <class V>
  void visit(V& v) {
    v("title", title, "title of the corpus", {.flag = ""});
    v("lists", lists, "folder of word lists for filters: zh, sexual, profanity, cursed as .txt or .json",
      {.value = "DIR"});
    v("read", read, "how inputs are read", {.flag = ""});
    v("source", source, "sources, the best first", {.flag = ""});
    v("dedup", dedup, "deduplication", {.flag = ""});
    v("write", write, "how kept documents are written", {.flag = ""});
    v("mix", mix, "mixture of the kept documents, by the sources' shares", {.flag = ""});
    v("tokenize", tokenize, "token shards for training", {.flag = ""});
  }

  static CorpusRecipe load(const std::filesystem::path& file);
  Inputs inputs(const std::filesystem::path& own = {}) const;  // own: as of find_inputs
  DedupConfig config() const;                                  // fields and filters as many as sources
};

}  // namespace quern::corpus
