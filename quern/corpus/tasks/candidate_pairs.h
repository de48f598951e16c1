// Files of candidate pairs between the tasks that find, join and compare them: pairs ascend, and large groups are written
// as their size and their documents.
#pragma once
#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include "quern/corpus/dedup/candidates.h"

namespace quern::corpus {

// The pairs of a file, a buffer at a time.
class PairReader {
 public:
  explicit PairReader(const SpillFile& file) : file_(&file) {}
  bool next(CandidatePair& pair) {
    if (at_ == buffer_.size()) {
      const uint64_t left = file_->size() / sizeof(CandidatePair) - read_;
      buffer_.resize(std::min<uint64_t>(left, kBuffer));
      if (buffer_.empty()) return false;
      file_->read(read_ * sizeof(CandidatePair), buffer_.data(), buffer_.size() * sizeof(CandidatePair));
      read_ += buffer_.size(), at_ = 0;
    }
    pair = buffer_[at_++];
    return true;
  }

 private:
  static constexpr uint64_t kBuffer = 8192;
  const SpillFile* file_;
  uint64_t read_ = 0;
  size_t at_ = 0;
  std::vector<CandidatePair> buffer_;
};

// f(pair) for the pairs of all files, ascending, each once.
template <class F>
void merge_pairs(const std::vector<SpillFile>& from, F&& f) {
  std::vector<PairReader> files(from.begin(), from.end());
  using Head = std::pair<CandidatePair, size_t>;
  const auto later = [](const Head& a, const Head& b) { return a > b; };
  std::priority_queue<Head, std::vector<Head>, decltype(later)> heads(later);
  const auto refill = [&](size_t i) {
    CandidatePair pair{};
    if (files[i].next(pair)) heads.push({pair, i});
  };
  for (size_t i = 0; i < files.size(); ++i) refill(i);
  while (!heads.empty()) {
    const CandidatePair pair = heads.top().first;
    while (!heads.empty() && heads.top().first == pair) {
      const size_t i = heads.top().second;
      heads.pop();
      refill(i);
    }
    f(pair);
  }
}

inline void append_group(const std::vector<uint32_t>& group, SpillFile& to) {
  const auto n = static_cast<uint32_t>(group.size());
  to.append(&n, sizeof n), to.append(group.data(), group.size() * sizeof(uint32_t));
}

// f(documents) for every group of a file.
template <class F>
void for_each_large_group(const SpillFile& file, F&& f) {
  std::vector<uint32_t> group;
  for (uint64_t at = 0; at < file.size() / sizeof(uint32_t); at += 1 + group.size()) {
    group.resize(file.record<uint32_t>(at));
    file.read((at + 1) * sizeof(uint32_t), group.data(), group.size() * sizeof(uint32_t));
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
