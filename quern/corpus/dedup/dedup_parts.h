// What the stages of a deduplication run (dedup_stages.h) consist of, for runs that divide the work otherwise: over tasks
// that know of each other by files alone (corpus/tasks). Functions of values; nobody's progress is saved in them but by
// the `save` they are given.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/corpus/dedup/dedup_stages.h"

namespace quern::corpus {

// The files of deduplication, and those that its caller's finish() writes.
const RunNames& dedup_run_names();

// The first pass: blocks of this rank from at.position on, into `own`; `at` follows, save() is called once in a while.
ReadPosition begin_reading(const DedupJob& job);
void read_blocks(const DedupJob& job, BlockReader& blocks, Segment& own, ReadPosition& at,
                 const std::function<void()>& save);
void count_filtered(DedupReport& report);  // of all sources

struct ExactCopy {
  RecordNumber document, front;  // front: the document that stands for it
  uint8_t status;                // kExactDuplicate or kShadow
};
static_assert(sizeof(ExactCopy) == 11);
void find_exact_copies(const DedupJob& job, const Segments& segments, std::span<const RecordSlice> slices,
                       KeyShare share, const std::function<void(const ExactCopy&)>& note);

// A document of a candidate pair, with its sorted set: `set_at` in the file of the rank that sorted it.
struct CandidateDocument {
  DocumentRecord record;
  RecordNumber number;
  uint16_t sorted_by = 0;
};
static_assert(sizeof(CandidateDocument) == 56);
struct CandidateSets {
  std::vector<CandidateDocument> order;  // the best first
  std::vector<SpillFile> files;          // by the rank that sorted them
};
// Of one process; the sets go to a temporary file in `folder`.
CandidateSets sorted_sets(const DedupJob& job, const std::filesystem::path& folder, const Segments& segments,
                          const std::vector<RecordNumber>& documents);
struct NearRemoved {
  RecordNumber document, survivor;
};
struct NearDecisions {
  std::vector<NearRemoved> removed;
  uint64_t compared = 0, passed = 0, wrongful = 0;  // wrongful: removed though not like their survivor
};
NearDecisions choose_kept(const DedupJob& job, const Segments& segments, const Candidates& candidates,
                          const CandidateSets& sets);
// Which of so many pairs the report looks at: every step-th, beginning in the middle of the first step.
struct PairSteps {
  explicit PairSteps(uint64_t pairs);
  uint64_t step, first;
};
std::vector<double> pair_similarities(const std::vector<CandidatePair>& pairs, const CandidateSets& sets);

using RemovedFor = std::pair<RecordNumber, RecordNumber>;  // survivor, document
constexpr size_t kSampleClusters = 12;
// clusters.jsonl.zst, cluster sizes and sample clusters of (survivor, document), ascending. exact(d): as a copy of the
// document that stands for it.
void write_cluster_files(const DedupJob& job, const Segments& segments, const std::vector<RemovedFor>& gone,
                         const std::function<bool(uint64_t)>& exact, DedupReport& report);

// The second pass: frames of this rank's blocks from at.position on, in order.
struct WrittenFrame {
  uint64_t block = 0;  // its number, over all blocks of the inputs
  std::string_view bytes;
  uint64_t unpacked = 0;
};
struct FrameSink {
  std::function<void(const WrittenFrame&)> put;
  std::function<void()> save = [] {};
};
void write_blocks(const DedupJob& job, const DedupDecisions& decisions, const FrameSink& sink, WritePosition& at);

struct FrameRecord {  // of a file of frames
  uint64_t block, packed, unpacked;
};
struct FrameFiles {
  SpillFile frames, table;
  void put(const WrittenFrame& f) {
    const FrameRecord r{f.block, f.bytes.size(), f.unpacked};
    frames.append(f.bytes.data(), f.bytes.size()), table.append(&r, sizeof r);
  }
};

}  // namespace quern::corpus
