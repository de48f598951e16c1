// Settings of the corpus stages, declared once: the tables of a recipe, the flags of `quern corpus`, their help and
// ranges, and the tables in docs/corpus/ all follow visit().
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "quern/base/config.h"
#include "quern/corpus/dedup/dedup.h"
#include "quern/corpus/stages/band_choice.h"
#include "quern/corpus/stages/mix.h"

namespace quern::corpus {

const char* filter_help();  // with the names of all filters

struct SourceSettings {
  std::string name, form = "auto", text_field = "text", filter = "none", language, score_field, url_field,
                    label_field, label_equals, license_field = "license";
  std::vector<std::string> paths;
  double label_at_least = 0;
  std::optional<double> share;
  template <class V>
  void visit(V& v) {
    v("name", name, "name of the source; of two duplicates, the one from the earlier source is kept", {.flag = ""});
    v("paths", paths, "input files and folders", {.flag = ""});
    v("form", form,
      "input format: auto (by file name, or what a pipe begins with), jsonl, text, html, warc, parquet, csv or tsv",
      {.value = "FORMAT"});
    v("text_field", text_field, "field of a JSON line or column of a table that holds the text", {.value = "NAME"});
    v("filter", filter, filter_help(), {.value = "NAME"});
    v("language", language,
      "keep documents in these languages, codes of ISO 639 separated by commas, by the shipped classifier; before "
      "the filter",
      {.value = "CODES"});
    v("score_field", score_field, "field with a number: of two duplicates, keep the one with the higher number",
      {.value = "NAME"});
    v("url_field", url_field, "field of a JSON line or column of a table that holds the URL of the document",
      {.value = "NAME"});
    v("license_field", license_field,
      "field of a JSON line or column of a table with the document's license: a name, an address, or a list of names",
      {.value = "NAME"});
    v("label_field", label_field, "field with a label that decides whether a document may be in the corpus",
      {.flag = ""});
    v("label_equals", label_equals, "the label must be this text", {.flag = ""});
    v("label_at_least", label_at_least, "without `label_equals`: the label must be at least this number",
      {.flag = ""});
    v("share", share, "with `[mix]`: proportion of the source in the mixture, relative to the others", {.flag = ""});
  }
  FieldMap fields() const;
  std::string filters() const;  // that of languages and `filter`, joined
};

enum class OnBad { skip, stop, replace };
inline std::vector<std::string> setting_names(OnBad) { return {"skip", "stop", "replace"}; }

struct ReadSettings {
  OnBad on_bad = OnBad::skip;
  int64_t max_record_mb = static_cast<int64_t>(ReadPolicy().max_row >> 20);
  template <class V>
  void visit(V& v) {
    v("on_bad", on_bad,
      "what to do with invalid records: skip, stop, or replace (bytes that are not valid UTF-8, by U+FFFD)",
      {.value = "ACTION"});
    v("max_row_mb", max_record_mb, "maximum record size in MiB; longer records are skipped and counted",
      {.alias = "max_record_mb",
       .value = "MIB",
       .flag = "--max-record-mib",
       .old_flags = "--max-row-mb",
       .range = Bounds::between(1, 1024)});
  }
  ReadPolicy policy() const;
};

struct DedupSettings {
  std::string preset = DedupConfig().preset, mode = "fast";
  std::optional<Verification> verify;
  std::optional<Clustering> clustering;
  std::optional<Scope> scope;
  std::optional<double> threshold;
  std::optional<BandCount> bands;
  std::optional<int64_t> rows_per_band, seed, shingle;
  double false_positive_weight = BandChoice().false_positive_weight;
  bool collide_empty = false, label_late = false;
  std::string source_field = DedupConfig().source_field, cluster_field;
  int64_t memory_mb = static_cast<int64_t>(DedupConfig().memory >> 20);
  template <class V>
  void visit(V& v) {
    v("preset", preset,
      "settings of a published pipeline: zyda (shingles of 13 words, 32 LSH bands of 4 rows), zyda2 (25 characters, "
      "8 "
      "bands of 16, across sources), fineweb (5 words, 14 bands of 8) or exact (no near-duplicates)",
      {.value = "NAME"});
    v("mode", mode, "MinHash implementation: fast, or compat (bit-identical to the published one)",
      {.value = "NAME"});
    v("verify", verify,
      "similarity of candidate pairs: none, signature (MinHash estimate), exact (Jaccard) or containment",
      {.value = "METHOD", .shown_default = "exact"});
    v("threshold", threshold, "similarity at which a candidate pair counts as duplicates",
      {.shown_default = "0.4; 0.85 for zyda2, 0.75 for fineweb", .range = Bounds::between(0, 1)});
    v("clustering", clustering, "star (compare with kept documents), or closure (connected components, as published)",
      {.value = "METHOD", .shown_default = "star"});
    v("scope", scope, "which duplicates to remove: all, across (between sources only) or within (a source)",
      {.value = "SCOPE", .shown_default = "across with zyda2, else all"});
    v("bands", bands,
      "number of LSH bands, 1 to 512, or auto: bands and rows with the least area of false positives and false "
      "negatives for "
      "the "
      "threshold; bands times rows is at most 128",
      {.value = "N", .shown_default = "32; 8 for zyda2, 14 for fineweb"});
    v("rows_per_band", rows_per_band,
      "rows per LSH band: 32 bands of 4 find pairs with Jaccard similarity 0.4, 8 of 16 with 0.85",
      {.alias = "rows_a_band",
       .flag = "--rows-per-band",
       .shown_default = "4; 16 for zyda2, 8 for fineweb",
       .range = Bounds::between(1, kMaxBands)});
    v("false_positive_weight", false_positive_weight,
      "weight of false positives with auto bands; false negatives weigh what is left of 1",
      {.value = "W", .range = Bounds::between(0, 1)});
    v("seed", seed, "random seed of the hash functions", {.shown_default = "1; 10 for zyda2"});
    v("shingle", shingle, "shingle length: words, or characters of raw text with zyda2",
      {.shown_default = "13; 25 for zyda2, 5 for fineweb", .range = Bounds::between(1, 1024)});
    v("collide_empty", collide_empty, "put all documents shorter than a shingle into one cluster, as published");
    v("source_field", source_field,
      "field that is added to every kept row and names its source, where the sources have names; empty for none",
      {.value = "NAME"});
    v("cluster_field", cluster_field,
      "field that is added to every kept row: the id by which clusters.jsonl.zst names it; empty for none",
      {.value = "NAME"});
    v("label_late", label_late, "check labels after the documents to keep are chosen, as published, not before",
      {.flag = ""});
    v("memory_mb", memory_mb, "memory for sorting LSH bands, in MiB",
      {.value = "MIB", .flag = "--memory-mib", .old_flags = "--memory-mb", .range = Bounds::at_least(1)});
  }
  DedupConfig config() const;  // the preset's, with what is set; throws Error for a preset or mode that is none
  // Where a threshold is set and the preset's bands are made for another one: what that costs. Else empty.
  std::string advice() const;
};

template <class V>
void visit_shard_mb(V& v, int64_t& shard_mb) {
  v("shard_mb", shard_mb, "uncompressed text per output file, in MiB",
    {.value = "MIB", .flag = "--shard-mib", .old_flags = "--shard-mb", .range = Bounds::at_least(1)});
}

template <class V>
void visit_overwrite(V& v, bool& overwrite) {
  v("overwrite", overwrite, "replace the earlier run there: the files that its manifest names");
}

struct WriteSettings {
  int64_t level = StageOutput().level, shard_mb = static_cast<int64_t>(StageOutput().shard_bytes >> 20);
  template <class V>
  void visit(V& v) {
    v("level", level, "zstd compression level, 1 to 19", {.range = Bounds::between(1, 19)});
    visit_shard_mb(v, shard_mb);
  }
  StageOutput output(const std::filesystem::path& folder) const;
};

struct MixSettings {
  double megabytes = 0, max_epochs = 0;
  int64_t seed = 1, shard_mb = 256;
  template <class V>
  void visit(V& v) {
    v("megabytes", megabytes, "total text in MB (10^6 bytes); 0: as much as fits without repeating a source",
      {.value = "MB", .range = Bounds::at_least(0)});
    v("max_epochs", max_epochs, "fail if a source would be repeated more than X times; 0 is unlimited",
      {.old_flags = "--most-epochs"});
    v("seed", seed, "random seed of the choice and order of documents");
    visit_shard_mb(v, shard_mb);
  }
  MixConfig config() const;  // without shares and output
};

struct TokenizeSettings {
  std::string tokenizer;
  bool end_token = true, rows = false;
  template <class V>
  void visit(V& v) {
    v("tokenizer", tokenizer, "folder with tokenizer.json", {.value = "DIR"});
    v("end_token", end_token, "add the tokenizer's end token after every document", {.flag = ""});
    v("rows", rows,
      "write .rows.jsonl.zst too: the members of every document but its text, and its number of tokens");
  }
};

}  // namespace quern::corpus
