// What a task of a plan is given, and how tasks find each other's results: WORK/STAGE-NUMBER is the folder of a task that
// is done; until then it works in a folder of its own beside it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quern/corpus/dedup/dedup_parts.h"
#include "quern/corpus/stages/mix.h"
#include "quern/corpus/stages/token_shards.h"
#include "quern/corpus/tasks/task_plan.h"

namespace quern::corpus {

// What a task counts of itself, beside its time: bytes that it read, and the largest tables that it held at once. Buffers
// of a size that does not depend on the corpus are not counted; peak_rss has them.
struct TaskCounters {
  uint64_t read_bytes = 0, table_bytes = 0, peak_rss = 0;
  double seconds = 0;
  template <class V>
  void visit(V& v) {
    v("read_bytes", read_bytes), v("table_bytes", table_bytes), v("peak_rss", peak_rss), v("seconds", seconds);
  }
};

struct TaskWork {
  const TaskPlan& plan;
  uint64_t index;                // of the task in its stage
  std::filesystem::path folder;  // to write into
  DedupConfig config;
  TaskCounters counters = {};
  DedupReport report = {};  // of the task that finishes a build
  FilterReport rows = {};   // of the one that finishes another stage, or:
  std::optional<MixReport> mix = {};
  std::optional<TokenShardReport> tokens = {};
  std::optional<ScoreReport> score = {};

  void holds(uint64_t bytes) { counters.table_bytes = std::max(counters.table_bytes, bytes); }
  // The folder of a task that is done.
  std::filesystem::path of(const std::string& stage, uint64_t task) const;
  uint64_t tasks(const std::string& stage) const { return plan.stage(stage).tasks; }
  template <class T>
  T result(const std::string& stage, uint64_t task) const {
    T value;
    read_state(Json::read(of(stage, task) / "result.json"), value);
    return value;
  }
  template <class T>
  void save_result(const T& value) const {
    save(write_value(value));
  }
  void save(const Json& result) const;

  uint64_t first_file() const { return plan.shards[index]; }
  uint64_t end_file() const { return index + 1 < plan.shards.size() ? plan.shards[index + 1] : plan.files.size(); }
  void check_shard() const;    // its files must lie there as they were planned
  Json scan_from();            // of such a shard, whose bytes are counted: where a scan of all files gets there
  Inputs up_to_shard() const;  // all files that such a scan may see
  Inputs shard() const;        // the files of this one, checked, and the models of filters too
  DedupConfig without_filters() const;   // of a task that reads no documents
  std::vector<uint64_t> firsts() const;  // numbers of the first document of each shard, and behind the last
  Segments segments(const std::vector<uint64_t>& firsts) const;
  const std::function<void(const DedupProgress&)> progress = {};
};

struct SketchResult {
  ReadPosition at;
  template <class V>
  void visit(V& v) {
    v("reading", at);
  }
};

// Records by key, of all shards: which = 0 for exact copies, 1 + b for band b. The slices point into the files.
struct KeyFiles {
  std::vector<SpillFile> files;
  Band slices;
};
KeyFiles open_keys(const TaskWork& w, size_t which, const std::vector<uint64_t>& firsts);

void sketch_task(TaskWork& w);
void exact_task(TaskWork& w);
void merge_task(TaskWork& w);
void join_task(TaskWork& w);
void cluster_task(TaskWork& w);
void settle_task(TaskWork& w);
void write_task(TaskWork& w);
void parts_task(TaskWork& w);
void finish_task(TaskWork& w);
void later_task(TaskWork& w);
void count_task(TaskWork& w);  // of a mixture
void pick_task(TaskWork& w);
void shuffle_task(TaskWork& w);
void finish_mix_task(TaskWork& w);
void tokenize_task(TaskWork& w);  // of tokens
void concat_task(TaskWork& w);
void finish_tokens_task(TaskWork& w);
void score_task(TaskWork& w);  // of scores
void concat_scores_task(TaskWork& w);
void finish_scores_task(TaskWork& w);
void rows_task(TaskWork& w);         // of a stage that stands alone
void finish_rows_task(TaskWork& w);  // the last of theirs

// A scan that scan_from begins, of one shard among others.
inline ScanCallbacks part_of_scan(const Json& from) {
  return {.progress = {}, .checkpoints = {.from = &from, .note = {}}, .part = true};
}

// All records of a file.
template <class T>
std::vector<T> read_records(const std::filesystem::path& file) {
  const SpillFile f = SpillFile::existing(file);
  std::vector<T> all(f.size() / sizeof(T));
  f.read(0, all.data(), all.size() * sizeof(T));
  return all;
}

}  // namespace quern::corpus
