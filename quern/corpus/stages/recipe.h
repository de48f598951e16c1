// Corpus recipe: sources in rank order, each with its fields, filter and label; deduplication; output; and, when their
// tables are there, mixture and token shards (build.h). TOML, one table per heading; an unknown key is an Error with the nearest name. Relative paths start from the recipe's folder.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "quern/base/config.h"
#include "quern/corpus/dedup/dedup.h"

namespace quern::corpus {

struct SourceRecipe {
  std::string name, form = "auto", text_field = "text", filter = "none", score_field, url_field, label_field,
                    label_equals;
  std::vector<std::string> paths;
  double label_at_least = 0;
  std::optional<double> share;
  template <class V>
  void visit(V& v) {
    v("name", name, "of the source; sources rank in the order they stand in");
    v("paths", paths, "files and folders");
    v("form", form, "auto (by the files' endings), jsonl, text, warc or parquet");
    v("text_field", text_field, "member of a JSON line that holds the text");
    v("filter", filter, "rules that its documents must pass, one of several in a row: gopher-quality+c4");
    v("score_field", score_field, "member with a number: of two copies the higher survives");
    v("url_field", url_field, "member with the address a document comes from");
    v("label_field", label_field, "member that says whether a document may be in the corpus");
    v("label_equals", label_equals, "what the label has to be");
    v("label_at_least", label_at_least, "or how large");
    v("share", share, "proportion of the source in the mixture, relative to the others");
  }
};

struct ReadRecipe {
  std::string on_bad = "skip";
  int64_t max_record_mb = 64;
  template <class V>
  void visit(V& v) {
    v("on_bad", on_bad, "rows that are no documents: skip, stop, or replace (bytes that are no UTF-8)");
    v("max_row_mb", max_record_mb, "longer records are skipped and counted", aka("max_record_mb"));
  }
};

struct DedupRecipe {
  std::string preset = "zyda", mode = "fast";
  std::optional<std::string> verify, clustering, scope;
  std::optional<double> threshold;
  std::optional<int64_t> bands, rows_per_band, seed, shingle;
  bool collide_empty = false, label_late = false;
  int64_t memory_mb = 512;
  template <class V>
  void visit(V& v) {
    v("preset", preset, "zyda, zyda2 or exact");
    v("mode", mode, "fast, or compat: the published hashes bit for bit");
    v("verify", verify, "none, signature, exact or containment");
    v("threshold", threshold, "of the verification");
    v("clustering", clustering, "star or closure");
    v("scope", scope, "all, across or within sources");
    v("bands", bands, "of the signature");
    v("rows_a_band", rows_per_band,
      "hashes per LSH band: 32 bands of 4 find pairs with Jaccard similarity 0.4, 8 of 16 with 0.85",
      aka("rows_per_band"));
    v("seed", seed, "of the hashes");
    v("shingle", shingle, "tokens in a window");
    v("collide_empty", collide_empty, "documents shorter than a shingle are one cluster, as published");
    v("label_late", label_late, "labels are looked at after survivors are chosen, as published");
    v("memory_mb", memory_mb, "for sorting bands");
  }
};

struct WriteRecipe {
  int64_t level = 3, shard_mb = 1024;
  template <class V>
  void visit(V& v) {
    v("level", level, "of zstd, 1 to 19");
    v("shard_mb", shard_mb, "of text in one file");
  }
};

struct MixRecipe {
  double megabytes = 0, max_epochs = 0;
  int64_t seed = 1, shard_mb = 256;
  template <class V>
  void visit(V& v) {
    v("megabytes", megabytes, "total text in MB (10^6 bytes); 0: as much as fits without repeating a source");
    v("max_epochs", max_epochs, "fail if a source would be repeated more than so many times; 0: no limit");
    v("seed", seed, "of the choice and order of documents");
    v("shard_mb", shard_mb, "of text in one file");
  }
};

struct TokenizeRecipe {
  std::string tokenizer;
  bool end_token = true;
  template <class V>
  void visit(V& v) {
    v("tokenizer", tokenizer, "folder with tokenizer.json");
    v("end_token", end_token, "end token after every document");
  }
};

struct CorpusRecipe {
  std::string title, lists;
  std::vector<SourceRecipe> source;
  ReadRecipe read;
  DedupRecipe dedup;
  WriteRecipe write;
  std::optional<MixRecipe> mix;
  std::optional<TokenizeRecipe> tokenize;
  template <class V>
  void visit(V& v) {
    v("title", title, "a line about it");
    v("lists", lists, "folder of word lists for the filters");
    v("read", read, "");
    v("source", source, "");
    v("dedup", dedup, "");
    v("write", write, "");
    v("mix", mix, "mixture of the kept documents, by the sources' shares");
    v("tokenize", tokenize, "token shards for training");
  }

  static CorpusRecipe load(const std::filesystem::path& file);
  Inputs inputs() const;
  DedupConfig config() const;
};

}  // namespace quern::corpus
