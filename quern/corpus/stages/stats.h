// Corpus statistics by source: documents, bytes, characters, words, lines, tokens if a tokenizer is given, and
// document lengths.
#pragma once
#include <string>
#include <vector>

#include "quern/corpus/run/scan.h"
#include "quern/text/tokenizer/tokenizer.h"

namespace quern::corpus {

struct SourceStats {
  static constexpr size_t kLengths = 40;
  std::string name;
  uint64_t documents = 0, bytes = 0, characters = 0, words = 0, lines = 0, tokens = 0, longest = 0;
  std::vector<uint64_t> lengths = std::vector<uint64_t>(kLengths);  // [i]: documents of 2^(i−1) … 2^i − 1 bytes
  void add(const SourceStats& o);
  uint64_t median_below() const;  // a power of two that half of the documents are shorter than
};

struct CorpusStats {
  ScanReport scan;
  std::vector<SourceStats> sources;
  bool has_tokens = false;
  Json json() const;
};

CorpusStats corpus_stats(const Inputs& inputs, const ScanOptions& o, const text::Tokenizer* tokenizer,
                         const ScanProgress& progress = {});

}  // namespace quern::corpus
