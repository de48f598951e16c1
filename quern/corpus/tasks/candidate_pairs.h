// Files of candidate pairs between the tasks that find, join and compare them: pairs ascend, and large groups are written
// as their size and their documents.
#pragma once
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "quern/corpus/dedup/candidates.h"
#include "quern/corpus/tasks/record_streams.h"

namespace quern::corpus {

using PairReader = RecordReader<CandidatePair>;

// f(pair) for the pairs of all files, ascending, each once.
template <class F>
void merge_pairs(const std::vector<SpillFile>& files, F&& f) {
  MergedRecords<CandidatePair, std::identity> pairs(files, {});
  CandidatePair last{}, pair{};
  for (bool first = true; pairs.next(pair); first = false, last = pair)
    if (first || pair != last) f(pair);
}

inline void append_group(const std::vector<RecordNumber>& group, SpillFile& to) {
  const RecordNumber n = group.size();
  to.append(&n, sizeof n), to.append(group.data(), group.size() * sizeof n);
}

// f(documents) for every group of a file.
template <class F>
void for_each_large_group(const SpillFile& file, F&& f) {
  std::vector<RecordNumber> group;
  for (uint64_t at = 0; at < file.size() / sizeof(RecordNumber); at += 1 + group.size()) {
    group.resize(file.record<RecordNumber>(at));
    file.read((at + 1) * sizeof(RecordNumber), group.data(), group.size() * sizeof(RecordNumber));
    f(group);
  }
}

// Joined pairs that the report looks at: the place among all pairs, which says in what order their similarities are added.
struct SampledPair {
  uint64_t place;
  CandidatePair pair;
};
struct SampledSimilarity {
  uint64_t place;
  double similarity;
  uint64_t both_survive;
};

struct MergeResult {
  uint64_t meetings = 0;
  template <class V>
  void visit(V& v) {
    v("meetings", meetings);
  }
};
struct JoinResult {
  uint64_t pairs = 0;
  template <class V>
  void visit(V& v) {
    v("pairs", pairs);
  }
};
struct ClusterResult {
  uint64_t compared = 0, passed = 0, wrongful = 0, removed = 0;
  template <class V>
  void visit(V& v) {
    v("compared", compared), v("passed", passed), v("wrongful", wrongful), v("removed", removed);
  }
};

}  // namespace quern::corpus
