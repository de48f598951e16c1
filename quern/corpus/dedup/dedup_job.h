// What a deduplication run is given: inputs, settings, output folder, ranks, filters, the head of a saved index. The
// stages (dedup_stages.h) share it and change nothing in it but the pool of workers. Ranks: block k of a pass belongs
// to rank k mod N, likewise band k; each rank has a range of keys and of the sets to sort. Every rank decompresses all
// inputs and splits them into lines, a tenth of the work or less. The first rank alone clusters and writes clusters,
// parts and index.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "quern/base/stopwatch.h"
#include "quern/corpus/dedup/dedup.h"
#include "quern/corpus/dedup/index.h"
#include "quern/corpus/filters/filter.h"
#include "quern/corpus/run/ranks.h"

namespace quern::corpus {

// The filters of the sources: each named filter once, its rules behind those of the filters before it.
struct FilterTable {
  std::vector<std::string> names, rules, idle;
  std::vector<FilterMaker> makers;
  std::vector<size_t> first_rule;  // of each named filter
  std::vector<int> of_source;      // −1: none
  FilterTable(const Inputs& inputs, const DedupConfig& config);
};

struct DedupWorker {  // buffers of the thread that works on a block
  DedupWorker(const Inputs& inputs, const DedupConfig& c, const FilterTable& table)
      : reader(inputs, c.fields, c.read), sketcher(c.sketch) {
    for (const FilterMaker& make : table.makers) filters.push_back(make());
  }
  DocumentReader reader;
  SketchMaker sketcher;
  std::vector<std::unique_ptr<DocumentFilter>> filters;
};

struct DedupJob {
  DedupJob(const Inputs& inputs, const DedupConfig& config, const std::filesystem::path& out, Ranks ranks,
           const std::function<void(const DedupProgress&)>& progress);

  const Inputs& inputs;
  const DedupConfig& config;
  FilterTable filters;
  const std::filesystem::path& out;
  Ranks ranks;
  IndexHead index;  // empty without one
  const std::function<void(const DedupProgress&)>& progress;

  // The folder of the run's progress belongs to this: the configuration, the index and the inputs as they lie there.
  std::string identity() const;
  bool wants_sets() const {
    return config.near && (config.verify == Verification::exact || config.verify == Verification::containment);
  }
  bool wants_signatures() const { return config.near && config.verify == Verification::signature; }
  size_t band_files() const { return config.near ? static_cast<size_t>(config.bands.bands) : 0; }
  // The member that names the source of a kept row; empty: none is written.
  std::string source_field() const { return names_sources(inputs) ? config.source_field : std::string(); }
  bool mine(const Block& b) const {
    return (b.after.blocks - 1) % static_cast<uint64_t>(ranks.size()) == static_cast<uint64_t>(ranks.rank());
  }
  void report_progress(const char* stage, uint64_t bytes, uint64_t documents) const {
    if (progress && ranks.first()) progress({stage, bytes, inputs.bytes(), documents});
  }

  std::unique_ptr<DedupWorker> borrow_worker() const;
  void give_back(std::unique_ptr<DedupWorker> w) const;

 private:
  mutable std::mutex workers_lock_;
  mutable std::vector<std::unique_ptr<DedupWorker>> workers_;
};

uint64_t peak_rss();                           // bytes, of the process so far; 0 where the system does not say
void release_free_memory(uint64_t documents);  // to the system, when documents are many

// Runs body(StageReport&) and adds its report, with time and memory, to `stages`.
template <class F>
void timed_stage(std::vector<StageReport>& stages, StageReport s, F&& body) {
  const Stopwatch watch;
  body(s);
  s.seconds = watch.seconds();
  s.peak_rss = peak_rss();
  stages.push_back(std::move(s));
}

}  // namespace quern::corpus
