// State of one deduplication run, private to the files dedup*.cc. dedup_read.cc is the first pass, dedup_near.cc
// banding, verification and clustering, dedup_write.cc the second pass, dedup_index.cc saved indices; dedup.cc runs
// them in order, with exact duplicates, clusters, and the progress that a resumed run starts from. Ranks: block k of a
// pass belongs to rank k mod N, likewise band k; each rank has a range of keys and of the sets to sort. Every rank
// decompresses all inputs and splits them into lines, a tenth of the work or less. The first rank alone clusters and
// writes clusters, parts and index.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "quern/corpus/dedup/candidates.h"
#include "quern/corpus/dedup/dedup.h"
#include "quern/corpus/dedup/index.h"
#include "quern/corpus/dedup/segments.h"
#include "quern/corpus/filters/filter.h"
#include "quern/corpus/io/hashing.h"
#include "quern/corpus/io/spill.h"
#include "quern/corpus/run/ranks.h"
#include "quern/corpus/run/run_folder.h"

namespace quern::corpus {

enum DocStatus : uint8_t { kProblem, kFiltered, kKept, kExactDuplicate, kNearDuplicate, kShadow };
constexpr uint8_t kChanged = 0x80;    // the filter changed the text
constexpr uint8_t kUnlabeled = 0x40;  // its label keeps it out, but only once survivors are chosen
constexpr uint8_t kMarks = kChanged | kUnlabeled;

// A document that met another, with its sorted set: `set_at` in the file of the rank that sorted it.
struct CandidateDocument {
  DocumentRecord record;
  uint32_t number = 0, sorted_by = 0;
};

// The filters of the sources: each named filter once, its rules behind those of the filters before it.
struct FilterTable {
  std::vector<std::string> names, rules;
  std::vector<FilterMaker> makers;
  std::vector<size_t> first_rule;  // of each named filter
  std::vector<int> of_source;      // −1: none
  FilterTable(const Inputs& inputs, const DedupConfig& config);
};

struct DedupWorker {  // buffers of whoever works on a block
  DedupWorker(const Inputs& inputs, const DedupConfig& c, const FilterTable& table)
      : reader(inputs, c.fields, c.read), sketcher(c.sketch) {
    for (const FilterMaker& make : table.makers) filters.push_back(make());
  }
  DocumentReader reader;
  SketchMaker sketcher;
  std::vector<std::unique_ptr<DocumentFilter>> filters;
};

class DedupRun {
 public:
  DedupRun(const Inputs& inputs, const DedupConfig& config, const std::filesystem::path& out,
           const std::function<void(const DedupProgress&)>& progress, Ranks ranks);
  DedupReport run(const std::function<void(const DedupReport&)>& finish);

 private:
  struct Piece;           // of the first reading: one block
  struct RewrittenBlock;  // of the second
  struct Sink;            // where those go
  using Order = std::vector<CandidateDocument>;

  template <class F>
  void stage(const char* name, uint64_t documents, uint64_t bytes, F&& body) {
    StageReport s{name, documents, 0, bytes, 0, 0};
    const double begin = seconds_now();
    body(s);
    s.seconds = seconds_now() - begin;
    s.peak_rss = peak_rss();
    report_.stages.push_back(std::move(s));
  }
  static double seconds_now();
  static uint64_t peak_rss();
  static void give_memory_back(uint64_t rows);  // what was freed, to the system, when rows are many
  void report_progress(const char* stage, uint64_t bytes, uint64_t total, uint64_t documents) {
    if (progress_ && ranks_.first()) progress_({stage, bytes, total, documents});
  }
  std::unique_ptr<DedupWorker> borrow();
  void give_back(std::unique_ptr<DedupWorker> w);

  bool wants_sets() const {
    return c_.near && (c_.verify == Verification::exact || c_.verify == Verification::containment);
  }
  bool mine(const Block& b) const {
    return (b.after.blocks - 1) % static_cast<uint64_t>(ranks_.size()) == static_cast<uint64_t>(ranks_.rank());
  }
  bool removed(uint32_t d) const { return survivor_[d] != d; }
  void set_status(uint32_t d, DocStatus f) { statuses_[d] = static_cast<uint8_t>((statuses_[d] & kMarks) | f); }

  void read(const Json* from);
  void look_at(const DocumentView& d, DedupWorker& w, Piece& p);
  Piece first_look(const Block& block, Piece&& spare);
  void keep(Piece& p);
  void note_reading(const BlockPosition& at);
  void add_up_readings();
  void gather_rows(uint64_t rows);
  size_t band_files() const { return c_.near ? static_cast<size_t>(c_.bands.bands) : 0; }

  void copies();
  void neighbors();
  Candidates find_pairs();
  Order sorted_sets(const std::vector<uint32_t>& documents);
  void sort_sets(Order& order);
  void choose_kept(const Candidates& candidates, Order& order, StageReport& s);
  void sample_pairs(const Candidates& candidates, const Order& order);
  void settle();
  void clusters();
  void pick_samples(const std::vector<std::pair<uint32_t, uint32_t>>& gone);
  void save_index();

  void emit(const Json* from);
  RewrittenBlock copy_survivors(const Block& block);
  void write_again(BlockPosition at, Sink& sink, uint64_t& documents);
  void emit_shards(const Json* from, StageReport& s);
  void emit_frames(const Json* from, StageReport& s);
  void note_frames(const BlockPosition& to, uint64_t documents, uint64_t frames, uint64_t table);
  SampleDocument* wanted(uint32_t number);

  const Inputs& in_;
  const DedupConfig& c_;
  FilterTable filters_;
  const std::filesystem::path& out_;
  const std::function<void(const DedupProgress&)>& progress_;
  Ranks ranks_;
  IndexHead index_;  // empty without one
  RunFolder folder_;
  Segment own_;                           // while reading
  Segments rows_;                         // afterwards
  std::vector<SpillFile> sorted_;         // the sets of those who met, by the rank that sorted them
  std::vector<uint64_t> example_blocks_;  // where the report's examples of bad rows come from
  std::vector<uint8_t> statuses_;
  SourceTable sources_;
  std::vector<uint32_t> survivor_;
  uint64_t after_exact_ = 0, noted_ = 0;  // bytes of input since the last note
  std::mutex workers_lock_;
  std::vector<std::unique_ptr<DedupWorker>> workers_;
  DedupReport report_;
};

}  // namespace quern::corpus
