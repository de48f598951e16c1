// What the last tasks of a plan leave for the one that finishes.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "quern/corpus/tasks/task_work.h"

namespace quern::corpus {

struct SettleResult {
  uint64_t clusters = 0, largest = 0;
  std::vector<std::vector<uint64_t>> overlap;
  std::vector<std::pair<uint64_t, uint64_t>> sizes;  // as DedupReport::cluster_sizes
  std::vector<ClusterSample> samples;
  template <class V>
  void visit(V& v) {
    v("clusters", clusters), v("largest", largest), v("overlap", overlap), v("sizes", sizes), v("samples", samples);
  }
};
struct WriteResult {
  uint64_t written = 0, own_members = 0;
  std::vector<SourceFunnel> sources;   // what became of the shard's documents
  std::vector<uint64_t> input_hashes;  // of the shard's files
  std::vector<ClusterSample> samples;  // with the texts that lie in this shard
  template <class V>
  void visit(V& v) {
    v("written", written), v("own_members", own_members), v("sources", sources), v("input_hashes", input_hashes);
    v("samples", samples);
  }
};
struct PartsResult {
  uint64_t bytes = 0;
  std::vector<std::pair<std::string, uint64_t>> files;  // name, XXH3-64
  template <class V>
  void visit(V& v) {
    v("bytes", bytes), v("files", files);
  }
};

}  // namespace quern::corpus
