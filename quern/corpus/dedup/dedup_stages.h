// Stages of a deduplication run, each a function from a value to the next:
//
//   read_documents → mark_exact_copies → mark_near_duplicates → settle → decisions → write_kept
//
// Documents is what the first pass leaves: a record per document on disk, six bytes of it in memory, and the report so
// far. DedupDecisions is what the second pass needs of it. Both passes save their position: ReadPosition and
// WritePosition are all that a resumed run needs beside the files of its folder.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "quern/corpus/dedup/candidates.h"
#include "quern/corpus/dedup/dedup_job.h"
#include "quern/corpus/dedup/segments.h"
#include "quern/corpus/run/run_folder.h"

namespace quern::corpus {

enum DocStatus : uint8_t { kProblem, kFiltered, kKept, kExactDuplicate, kNearDuplicate, kShadow };
constexpr uint8_t kChanged = 0x80;    // the filter changed the text
constexpr uint8_t kUnlabeled = 0x40;  // its label keeps it out, but only once survivors are chosen
constexpr uint8_t kMended = 0x20;     // its line is not written as it came
constexpr uint8_t kMarks = kChanged | kUnlabeled | kMended;
constexpr int status_of(uint8_t status) { return status & ~kMarks; }

// All documents by number, those of an index first.
struct Documents {
  Segments segments;  // their records, on disk
  SourceTable sources;
  std::vector<uint8_t> statuses;   // DocStatus and marks
  std::vector<uint32_t> survivor;  // the document that stands for each; itself when it is kept. Of 2^32 at most.
  DedupReport report;
  bool removed(uint64_t d) const { return survivor[d] != d; }
  void set_status(uint64_t d, DocStatus s) { statuses[d] = static_cast<uint8_t>((statuses[d] & kMarks) | s); }
  // After filters and exact copies, which is what a near-duplicate stage begins with.
  uint64_t distinct() const { return report.read.documents - report.filtered - report.exact_removed; }
};

struct DedupDecisions {
  std::vector<uint8_t> statuses;
  uint64_t first = 0;  // the document that the first of them is of
  DedupReport report;
};

// Where the first pass is: every checkpoint saves it, a resumed run begins with it.
struct ReadPosition {
  BlockPosition position;
  Json sizes;                            // of this rank's segment files; null: none yet
  std::vector<uint64_t> example_blocks;  // where the report's examples of bad rows come from
  DedupReport report;
  template <class V>
  void visit(V& v) {
    v("position", position), v("sizes", sizes), v("example_blocks", example_blocks), v("report", report);
  }
};

// Where the second pass is. What it wrote so far is the writer's own.
struct WritePosition {
  BlockPosition position;
  uint64_t written = 0;  // documents
  DedupReport report;
  template <class V>
  void visit(V& v) {
    v("position", position), v("written", written), v("report", report);
  }
};

// The first pass (dedup_read.cc): filters every document, computes its signature, writes records to disk.
Documents read_documents(const DedupJob& job, RunFolder& folder);
// Documents of one content: the best stands for the others (dedup_exact.cc).
Documents mark_exact_copies(const DedupJob& job, Documents all);
// Banding, verification, clustering (dedup_near.cc).
Documents mark_near_duplicates(const DedupJob& job, const RunFolder& folder, Documents all);
// Chains end at a document that is kept; counts by source (dedup_settle.cc).
Documents settle(const DedupJob& job, Documents all);
// clusters.jsonl.zst, cluster sizes and sample clusters (dedup_settle.cc).
Documents write_clusters(const DedupJob& job, Documents all);
// The kept documents as an index that a later run can be compared with (dedup_index.cc). Uses up `survivor`.
Documents save_index(const DedupJob& job, Documents all);
// The first rank's decisions, saved for a later process and given to all ranks; those an earlier process saved.
DedupDecisions share_decisions(const DedupJob& job, RunFolder& folder, DedupDecisions decisions);
DedupDecisions saved_decisions(const DedupJob& job, const RunFolder& folder);
// The second pass (dedup_write.cc): copies the lines of kept documents to shards.
DedupReport write_kept(const DedupJob& job, RunFolder& folder, DedupDecisions decisions);

}  // namespace quern::corpus
