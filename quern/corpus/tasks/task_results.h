// What the last tasks of a plan leave for the one that finishes.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "quern/corpus/io/run_manifest.h"
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
  uint64_t bytes = 0;                                   // of kept rows
  std::vector<std::pair<std::string, uint64_t>> files;  // name, XXH3-64; that is 0 for stages whose manifest has none
  std::vector<uint64_t> rows;                           // of the kept documents of a build, by file
  template <class V>
  void visit(V& v) {
    v("bytes", bytes), v("files", files), v("rows", rows);
  }
};

struct RowsResult {
  FilterReport report;
  std::vector<std::string> rules, idle_rules, damaged;
  ReadCounts read;
  Json settings;  // as RowStageRun's
  template <class V>
  void visit(V& v) {
    v("report", report), v("rules", rules), v("idle_rules", idle_rules), v("read", read), v("damaged", damaged);
    v("settings", settings);
  }
};

// Frames that a stage's tasks left, in the order of its shards, and the output files that they become.
struct StageFrames {
  std::string stage, frames, table, part;
};
inline StageFrames kept_frames(const std::string& stage) { return {stage, "frames", "frame-table", "part"}; }
inline StageFrames rejected_frames(const std::string& stage) {
  return {stage, "reject-frames", "reject-frame-table", "reject"};
}

// Of the task that ends a plan.
// To its name, where it was not moved before.
void move_part(const TaskWork& w, const std::filesystem::path& from, const OwnedFile& file);
// Counters of all tasks, by stage: sums of seconds and bytes, and the most that one task read and held.
Json counters_json(const TaskWork& w);
// The plan in the manifest.
Json plan_json(const TaskWork& w);
// Counters of a build's later stage, into the build's manifest.
void add_later_counters(const TaskWork& w);

}  // namespace quern::corpus
