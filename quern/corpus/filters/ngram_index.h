// Decontamination: n-grams of benchmarks, to find documents that contain their questions or answers. Text is
// lower-cased, stripped of ASCII punctuation and split at white space (text normalizer slimpajama); an n-gram is n
// consecutive words, one 64-bit hash. An item shorter than n words is one gram of all its words if it has at least
// `shortest`, and is otherwise skipped and counted. Cost: 8 bytes and up to two loads per n-gram.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quern/corpus/filters/filter.h"
#include "quern/corpus/text/text_normalizer.h"

namespace quern::corpus {

struct NgramOptions {
  int n = 13, shortest = 8;
  int minimum = 1;  // n-grams in common that reject a document
};

class NgramIndex {
 public:
  explicit NgramIndex(NgramOptions o);  // throws when the numbers make no sense
  void add(std::string_view item);
  void finish();  // before looking up
  uint64_t items() const { return items_; }
  uint64_t too_short() const { return too_short_; }
  uint64_t grams() const { return grams_; }
  const NgramOptions& options() const { return o_; }
  const std::vector<uint16_t>& lengths() const { return lengths_; }  // of grams, ascending
  bool holds(uint64_t hash) const;

 private:
  NgramOptions o_;
  uint64_t items_ = 0, too_short_ = 0, grams_ = 0, mask_ = 0;
  std::vector<uint64_t> hashes_, table_;
  std::vector<uint16_t> lengths_;
  Tokens tokens_;
  std::string scratch_;
};

// Rejects (rule "benchmark_ngrams") documents with `least` or more places where a benchmark's n-gram begins.
FilterMaker decontamination_filter(std::shared_ptr<const NgramIndex> index);

}  // namespace quern::corpus
