// Statistics of a deduplication beyond its counts: where each source's documents went, which source's duplicates
// removed which other's, similarities of candidate pairs, and sample clusters.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/corpus/sketch/bands.h"

namespace quern::corpus {

struct SourceFunnel {
  std::string name;
  uint64_t documents = 0, text_bytes = 0;
  uint64_t filtered = 0, unlabeled = 0, exact_removed = 0, near_removed = 0, kept = 0;  // add up to documents
  std::vector<uint64_t> rule_first, rule_any;                                           // by rule of the report
  template <class V>
  void visit(V& v) {
    v("name", name), v("documents", documents), v("text_bytes", text_bytes), v("filtered", filtered);
    v("unlabelled", unlabeled), v("exact_removed", exact_removed), v("near_removed", near_removed), v("kept", kept);
    v("rule_first", rule_first), v("rule_any", rule_any);
  }
  void add(const SourceFunnel& o);
};

// Exact similarities of pairs that met in a band, evenly spread over all such pairs. A pair alike by s meets with
// probability p(s), so every one found stands for 1/p(s) − 1 that were not: `missed` is their sum over pairs that
// pass the threshold, an estimate of the false negatives; `below` counts those that met and do not pass: without
// verification they are the false positives.
struct PairSample {
  static constexpr size_t kBins = 20;
  uint64_t met = 0, looked_at = 0, below = 0;
  double missed = 0;
  std::vector<uint64_t> all = std::vector<uint64_t>(kBins), survivors = std::vector<uint64_t>(kBins);
  template <class V>
  void visit(V& v) {
    v("met", met), v("looked_at", looked_at), v("below", below), v("missed", missed);
    v("all", all), v("survivors", survivors);
  }
  struct Pair {
    double similarity;
    bool both_survive;
  };
  void add(const Pair& pair, double threshold, BandShape bands);
  Json json() const;  // missed and below for all pairs that met, not for those looked at
};

struct SampleDocument {
  uint64_t number = 0;
  uint32_t source = 0;
  uint64_t id = 0, bytes = 0;
  double similarity = -1;  // to the survivor; −1: not known
  bool exact = false;
  std::string text;  // the beginning
  template <class V>
  void visit(V& v) {
    v("number", number), v("source", source), v("id", id), v("bytes", bytes), v("similarity", similarity);
    v("exact", exact), v("text", text);
  }
};
struct ClusterSample {
  uint64_t size = 0;
  SampleDocument survivor;
  std::vector<SampleDocument> removed;
  template <class V>
  void visit(V& v) {
    v("size", size), v("survivor", survivor), v("removed", removed);
  }
};

Json funnel_json(const std::vector<SourceFunnel>& sources, const std::vector<std::string>& rules);

}  // namespace quern::corpus
