// Benchmarks whose n-grams no document may hold: read from their files, and looked up by a filter (ngram_index.h). A
// line of JSON is an item; of a text file, a line is one, or a paragraph where blank lines stand between lines.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "quern/corpus/filters/ngram_index.h"
#include "quern/corpus/run/scan.h"

namespace quern::corpus {

struct DecontaminateSettings {
  std::vector<std::string> against, fields;  // files and folders; of their JSON lines
  int64_t words = NgramOptions().n, shortest = NgramOptions().shortest, minimum = NgramOptions().minimum;
  template <class V>
  void visit(V& v) {
    v("against", against), v("fields", fields), v("words", words), v("shortest", shortest), v("minimum", minimum);
  }
  std::string text(const Inputs& benchmarks) const;  // with what lies there, for a run's identity
};

struct Benchmarks {
  Inputs inputs = {};
  std::vector<ScanReport> read = {};  // by field
  std::shared_ptr<const NgramIndex> index = nullptr;
  Json json(const DecontaminateSettings& s) const;  // for the manifest
};
// Throws Error for a file without text in any of the fields, and when all items are too short.
Benchmarks read_benchmarks(const DecontaminateSettings& s);

}  // namespace quern::corpus
